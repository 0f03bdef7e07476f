"""What a journal holds."""
