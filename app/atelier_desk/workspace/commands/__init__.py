"""Command lines: parsing, assessing and running them."""
