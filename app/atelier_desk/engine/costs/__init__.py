"""Monthly limit, costs of embeddings, and usage totals."""
