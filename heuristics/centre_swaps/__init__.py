"""Search over swaps of centres: one is removed, another put on a block, and what is near descends.

A trial of that kind changes clusters near both places alone. Blocks look at the centres near their
own only, moves are priced exactly, and a trial that does not end cheaper is undone from a journal:
with k in the hundreds it takes as long as with k in the tens, tens of microseconds.
"""
