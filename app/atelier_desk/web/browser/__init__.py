"""Pages that need JavaScript, rendered by an installed browser.

It runs apart from the person's own browser and reaches the network only through the gate.
"""
