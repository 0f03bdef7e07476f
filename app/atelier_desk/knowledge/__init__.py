"""Search: index by words and by vectors, the embedder in use, ranking, and the search in memories and projects."""
