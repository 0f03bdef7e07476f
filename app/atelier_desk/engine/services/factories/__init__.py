"""Parts of the open engine that several services share; each function makes one of them, see ``LazyParts``."""
