"""Results of LanceDB: reads JSON from standard input, writes the order for each question to standard output.

Runs in the peers' environment. In: ``{"ids", "texts", "vectors", "questions", "question_vectors", "limit"}``. Out: by
system the ids found for each question.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from typing import Any


def main() -> None:
    import lancedb
    from lancedb.index import FTS
    from lancedb.rerankers import LinearCombinationReranker, RRFReranker

    order = json.load(sys.stdin)
    found: dict[str, list[list[str]]] = {"lancedb words": [], "lancedb hybrid": [], "lancedb hybrid, linear": []}
    with tempfile.TemporaryDirectory() as folder:
        database = lancedb.connect(folder)
        rows = [
            {"id": name, "text": text, "vector": vector}
            for name, text, vector in zip(order["ids"], order["texts"], order["vectors"], strict=True)
        ]
        table: Any = database.create_table("memories", rows)
        table.create_index("text", config=FTS(stem=True, remove_stop_words=True, ascii_folding=True))
        table.wait_for_index([index.name for index in table.list_indices()])
        for question, vector in zip(order["questions"], order["question_vectors"], strict=True):
            plain = " ".join(re.findall(r"\w+", question))
            words = table.search(plain, query_type="fts").limit(order["limit"]).to_list()
            found["lancedb words"].append([row["id"] for row in words])
            for name, reranker in (
                ("lancedb hybrid", RRFReranker()),
                ("lancedb hybrid, linear", LinearCombinationReranker(weight=0.5)),
            ):
                both = (
                    table.search(query_type="hybrid")
                    .vector(vector)
                    .text(plain)
                    .rerank(reranker)
                    .limit(order["limit"])
                    .to_list()
                )
                found[name].append([row["id"] for row in both])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
