"""Section ``rag_ops``: looking things up in projects."""
