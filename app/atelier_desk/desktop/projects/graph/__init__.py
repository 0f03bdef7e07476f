"""The project graph: data, layout and drawing."""
