"""Data and agents from other installations and programs: reading, and what needs confirmation."""
