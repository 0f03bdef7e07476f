"""One module a language, or a close family of languages."""
