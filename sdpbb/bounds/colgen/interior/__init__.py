"""Interior point method for master programmes over many blocks."""
