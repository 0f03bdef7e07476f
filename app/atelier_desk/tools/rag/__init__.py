"""Section ``rag_ops``: search in projects."""
