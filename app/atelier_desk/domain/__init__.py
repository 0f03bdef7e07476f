"""The domain: pydantic models, limits, events and errors. No I/O and no Qt."""
