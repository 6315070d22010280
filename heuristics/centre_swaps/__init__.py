"""Search over swaps of centres: one is removed, another put on a block, and what is near descends.

A trial of that kind changes clusters near both places alone. Blocks look at the centres near their
own only, moves are priced exactly, and a trial that does not end cheaper is undone from a journal:
with k in the hundreds it takes as long as with k in the tens, tens of microseconds.

| file | what |
| --- | --- |
| `state.py` | a clustering that is kept up block by block, and the journal of a trial |
| `moves.py` | compiled: a block moves, a trial is undone, the lists of near centres |
| `trials.py` | compiled: a centre is removed, one is put elsewhere, blocks near by descend |
| `loop.py` | compiled: many trials |
| `search.py` | `CentreSwaps`, the search in one contraction |
"""
