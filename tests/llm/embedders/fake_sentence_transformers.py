"""Replaces sentence-transformers in the child process: copied as ``sentence_transformers.py`` into a folder on its
path.
"""

import os

import numpy as np


class SentenceTransformer:
    prompts = {"query": "query: "}

    def __init__(self, name: str, device: str) -> None:
        print("a library that prints to stdout")
        if name == "wrong":
            raise OSError(f"{name} is not a model (offline={os.environ.get('HF_HUB_OFFLINE', '')})")

    def get_sentence_embedding_dimension(self) -> int:
        return 4

    def encode(
        self,
        texts: list[str],
        normalize_embeddings: bool,
        convert_to_numpy: bool,
        show_progress_bar: bool,
        prompt_name: str = "",
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        if "die" in texts:
            os._exit(3)
        if "fail" in texts:
            raise ValueError("cannot embed this")
        rows = [[len(text), prompt_name == "query", 1.0, 0.0] for text in texts]
        vectors = np.asarray(rows, dtype=np.float64)
        normalized: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
        normalized = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalized
