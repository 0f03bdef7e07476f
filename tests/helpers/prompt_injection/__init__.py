"""A model that obeys everything it reads, contents with instructions, and canaries that show the effects."""
