"""Lagrangian bound: prices of blocks, and a proven lower bound on the value of every cluster.

Each block i has a price p_i. If v is proven to be at most c(X) - p(X) for every cluster X, every
clustering into k clusters costs at least sum p + k v (`duals.py`). The parts are

- *prices*: `DualValues` of the blocks and of a cluster. A child adds up the prices of the blocks
  that it merges;
- *exact pricing*, which alone proves v, by one of two oracles. Branch and bound over sets of blocks
  (`sets/`) supports all rules on clusters: cannot-links, quantities, soft pairs, and oracles of the
  user. Branch and bound over places of means (`places/`) needs three dimensions or fewer, and
  supports any number of blocks, cannot-links, and limits on one quantity;
- *price updates*: a restricted master programme over known clusters, by the simplex method with
  stabilisation or by an interior point method (`masters/`); or the ascent of a smooth dual function
  over known places (`places/dual.py`);
- *enumeration* (`enumeration.py`): at given prices, all clusters of a clustering below a cutoff.
  The cheapest partition into k of them (`partitioning.py`) closes the node;
- *incumbents*: roundings of master programmes (`primal.py`), and partitions;
- *evidence*: prices and v, which the checker proves by its own search; for an enumeration also the
  multipliers of the partition;
- *slices*: each part works on a stored state, and resumes from it to the last bit.

`reach.py` has the table of bounds by node; `sdpbb.bounds.staged` runs them, and the semidefinite
bound, in stages.
"""
