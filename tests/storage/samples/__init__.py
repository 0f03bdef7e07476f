"""A data folder of each schema version that opens, as the program of that version left it; see ``make``."""
