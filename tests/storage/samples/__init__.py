"""A data folder of each supported schema version, as the program of that version wrote it; see ``make_sample``."""
