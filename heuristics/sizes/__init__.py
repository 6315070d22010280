"""Assignment steps if sizes or weights of clusters are limited.

| file | what |
| --- | --- |
| `flow_kernels.py` | compiled: cheapest assignment of single points to clusters of limited sizes |
| `shift_heaps.py` | compiled: the cheapest point to shift from one cluster to another |
| `repair_kernels.py` | compiled: cheapest clusters of many blocks, repaired to keep limits |
| `assignment.py` | the assignment step: by flows, an integer programme over blocks, or a repair |
| `pairwise.py` | `SizedPairwiseAssignment`: the step with pairs, soft ones among them |
"""
