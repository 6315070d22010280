"""What a run did: its bounds over time and its tree, and the file of both."""
