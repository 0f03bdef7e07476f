"""The command palette: its dialog, its entries and the words they are found by."""
