"""Stands in for sentence-transformers in the child process: copied as ``sentence_transformers.py`` into a folder on its path."""

import os

import numpy as np


class SentenceTransformer:
    prompts = {"query": "query: "}

    def __init__(self, name, device):
        print("a library that prints to stdout")
        if name == "wrong":
            raise OSError(f"{name} is not a model (offline={os.environ.get('HF_HUB_OFFLINE', '')})")

    def get_sentence_embedding_dimension(self):
        return 4

    def encode(self, texts, normalize_embeddings, convert_to_numpy, show_progress_bar, prompt_name=""):
        if "die" in texts:
            os._exit(3)
        if "fail" in texts:
            raise ValueError("cannot embed this")
        rows = [[len(text), prompt_name == "query", 1.0, 0.0] for text in texts]
        vectors = np.asarray(rows, dtype=np.float64)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
