"""Published methods, written from their papers, which ours are measured against."""
