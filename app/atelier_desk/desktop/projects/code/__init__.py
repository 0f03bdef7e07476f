"""The source of what was found, with its outline, and who calls whom."""
