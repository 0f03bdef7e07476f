"""From the bytes of a file to what is in it: scopes, imports, references, sections. Pure, without I/O, so that it can run in another
process."""
