"""Tools for images and 3D models."""
