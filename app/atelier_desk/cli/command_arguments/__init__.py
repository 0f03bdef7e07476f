"""Arguments of each command group: one module each, imported when the group is named.

Nothing here imports anything heavy.
"""
