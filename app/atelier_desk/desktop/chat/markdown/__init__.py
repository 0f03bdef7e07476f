"""Markdown of replies: parsed while streaming, rendered into text documents and code cards."""
