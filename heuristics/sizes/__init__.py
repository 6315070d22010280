"""Assignment steps if sizes or weights of clusters are limited."""
