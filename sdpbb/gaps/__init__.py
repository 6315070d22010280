"""How far any labels are from optimal."""
