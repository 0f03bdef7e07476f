"""What the screens and the command line ask of the engine: one class a noun, no Qt, no printing."""
