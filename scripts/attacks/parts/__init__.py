"""The ways to attack, a module each."""
