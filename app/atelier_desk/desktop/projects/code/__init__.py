"""The source of an entity, with outline, callers and callees."""
