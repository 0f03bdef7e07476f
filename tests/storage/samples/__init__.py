"""A data folder of each schema version, as the program of that version left it; see ``make``."""
