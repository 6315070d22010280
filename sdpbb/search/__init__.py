"""The tree: it knows protocols, no semidefinite programming and no files."""
