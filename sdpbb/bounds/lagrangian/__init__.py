"""Lagrangian bound: prices of blocks, and an oracle that proves what no cluster is worth less than.

Each block i has a price p_i. With v proven to be at most c(X) - p(X) for every cluster X, every
clustering into k clusters costs at least sum p + k v (`duals.py`). All parts say the same of

- *prices*: `DualValues` of the blocks and of a cluster; a child sums the prices of the blocks it
  merges;
- *exact pricing*, which alone proves v. There are two oracles. Over sets of blocks (`sets/`),
  branch and bound knows all rules on clusters: cannot-links, quantities, soft pairs, and oracles
  of the user's own. Over places of means (`places/`), branch and bound over boxes needs three
  dimensions or fewer, takes any number of blocks, and knows cannot-links and one quantity;
- *price updates*: a restricted master programme over known clusters, by the simplex method with
  stabilisation or by an interior point method (`masters/`), and the ascent of a smooth dual
  function over known places (`places/dual.py`);
- *enumeration* (`enumeration.py`): at given prices, all clusters of a clustering below a cutoff,
  and the cheapest partition into k of them (`partitioning.py`), which ends the node;
- *incumbents*: roundings of master programmes (`primal.py`), and partitions;
- *evidence*: prices and v, which the checker proves by its own search; of an enumeration, prices,
  v and the multipliers of the partition;
- *slices*: each part works on a stored state, and resumes from it to the last bit.

`reach.py` is the table of the bounds that a node begins with; `sdpbb.bounds.staged` runs them, and
the semidefinite bound, in stages.
"""
