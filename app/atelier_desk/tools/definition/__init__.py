"""What a tool says of itself: its description, its input schema, the description of one call."""
