"""Commands of the command line, a module each; `cli` registers them. Exit codes: 0 done, or one of these."""

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
