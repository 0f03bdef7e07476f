"""The words of each command group: one module each, imported when the group is named. Imports nothing heavy."""
