"""Why constraints cannot hold together, and what they imply, in the user's words."""
