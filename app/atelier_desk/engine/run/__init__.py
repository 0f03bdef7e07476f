"""One run: its state, the pure reducer, the pure next step, and the driver that executes steps."""
