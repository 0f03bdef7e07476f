"""The settings pages, one module each; they register themselves."""
