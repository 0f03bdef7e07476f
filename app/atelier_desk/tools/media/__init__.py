"""Tools for pictures and 3D models."""
