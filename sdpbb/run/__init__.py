"""One run, from what is asked for to its result, with its certificate and its checkpoint."""
