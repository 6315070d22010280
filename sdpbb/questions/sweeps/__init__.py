"""Sweeps over the number of clusters: every k is solved, each begun from a neighbour's clustering.

| file | what |
| --- | --- |
| `sweep.py` | `sweep`: the run, one k after the other or several at a time |
| `neighbours.py` | clusterings with more clusters by splitting, with fewer by merging |
| `checkpoints.py` | whether the checkpoints of a folder are of the runs that are asked for |
| `report.py` | what is known of each k |
"""
