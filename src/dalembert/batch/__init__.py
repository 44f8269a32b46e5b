"""Batches: many runs of one scene, which differ in numbers, inside one compiled call a thread.

`run` is the entry. `vary` and `structure` find what differs, `workspace` and `threads` keep the tables of each thread,
`result` labels what was recorded. `kernel`, with its `tables`, is the compiled part.
"""
