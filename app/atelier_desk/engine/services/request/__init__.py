"""What a model was sent, for the screen."""
