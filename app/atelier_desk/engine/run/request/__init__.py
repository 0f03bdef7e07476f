"""What a model is sent, and what is made of its reply."""
