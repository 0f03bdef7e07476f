"""Parse the bytes of a file into scopes, imports, references and sections.

Pure, without I/O, so that it can run in another process.
"""
