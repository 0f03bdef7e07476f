"""What is searched: the index by words and the one by vectors, the embedder in use, ranking, and the search in memories."""
