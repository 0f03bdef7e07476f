"""Files, folders and images attached to a message: reading, decoding, describing."""
