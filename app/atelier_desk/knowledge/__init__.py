"""What is searched: the index by words and the one by vectors, ranking, and the search in memories."""
