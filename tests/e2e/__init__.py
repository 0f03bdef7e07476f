"""The complete program, driven through its real window by the names of its widgets."""
