"""Elementary functions for kernels, made of additions, multiplications, divisions and square roots alone.

IEEE 754 fixes the result of these to the last bit, so that a kernel gives the same bits on every processor. The C library's
functions do not: it chooses, when a program starts, between variants for the processor it finds. See docs/accuracy.md.
"""
