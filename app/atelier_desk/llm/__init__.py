"""Models: providers, profiles, the tool dialects and the embedders."""
