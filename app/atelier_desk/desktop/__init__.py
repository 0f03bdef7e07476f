"""The Qt desktop: the only package that imports Qt."""
