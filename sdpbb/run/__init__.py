"""One run, from the request to the result, with certificate and checkpoint."""
