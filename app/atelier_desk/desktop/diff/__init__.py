"""A change of a text file, drawn: in line or side by side, syntax coloured, changed words marked."""
