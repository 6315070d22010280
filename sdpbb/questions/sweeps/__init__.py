"""Sweeps over the number of clusters: every k is solved, each begun from a neighbour's clustering.

| file | what |
| --- | --- |
| `sweep.py` | `sweep`: the run, one k after the other or several at a time |
| `neighbours.py` | clusterings with more clusters by splitting, with fewer by merging |
| `folder.py` | files of a sweep: checkpoint and certificate of each k, tables |
| `tasks.py` | the run of one k, in this process or in another |
| `report.py` | what is known of each k |
"""
