"""What things are: pydantic models, limits, events and errors. No I/O and no Qt."""
