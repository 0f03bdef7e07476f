"""Markdown of replies: parsed while it streams, drawn into text documents and code cards."""
