"""What is here: a fitted TfidfVectorizer as ONNX nodes, from texts to features.

The tokenizer is an operator of onnxruntime (domain com.microsoft), not of ONNX itself.
"""

from typing import Any

import numpy as np

from prml.export.onnx_graph import Graph, Value
from prml.export.steps import unit_rows

# Python's \w, said in the regular expressions of the runtime (RE2), whose \w is ASCII alone.
_WORD = r"\p{L}\p{N}_"
_TOKENS = {
    r"(?u)\w[\w+#]*": rf"[{_WORD}][{_WORD}+#]*",
    r"(?u)\b\w\w+\b": rf"[{_WORD}][{_WORD}]+",
}
_PLAIN = {
    "analyzer": "word",
    "preprocessor": None,
    "tokenizer": None,
    "strip_accents": None,
    "stop_words": None,
    "binary": False,
}


def is_text_step(step: Any) -> bool:
    return type(step).__name__ == "TfidfVectorizer"


def write_tfidf(vectorizer: Any, graph: Graph, texts: Value, dtype: Any, locale: str) -> Value:
    """Append the nodes from texts, shape (n,), to tf-idf weights, shape (n, n_features)."""
    _check(vectorizer)
    if vectorizer.lowercase:
        texts = graph.add("StringNormalizer", texts, case_change_action="LOWER", locale=locale)
    tokens = graph.add(
        "Tokenizer",
        texts,
        domain="com.microsoft",
        mark=0,
        mincharnum=1,
        pad_value="\x00",
        tokenexp=_TOKENS[vectorizer.token_pattern],
    )
    counts = graph.cast(_counts(vectorizer, graph, tokens), dtype)
    if vectorizer.sublinear_tf:  # 1 + log(count) where there is a count, 0 elsewhere
        one = graph.like(counts, 1.0)
        log = graph.add("Log", graph.add("Max", counts, one))
        counts = graph.add("Add", log, graph.add("Min", counts, one))
    if vectorizer.use_idf:
        counts = graph.add("Mul", counts, graph.like(counts, vectorizer.idf_))
    return counts if vectorizer.norm is None else unit_rows(graph, counts, vectorizer.norm)


def _counts(vectorizer: Any, graph: Graph, tokens: Value) -> Value:
    """Count the n-grams of the vocabulary: pools of 1-grams, 2-grams and so on, in this order."""
    shortest, longest = vectorizer.ngram_range
    by_length: dict[int, list[tuple[list[str], int]]] = {n: [] for n in range(1, longest + 1)}
    for gram, column in vectorizer.vocabulary_.items():
        words = gram.split(" ")
        by_length[len(words)].append((words, int(column)))
    pool: list[str] = []
    starts: list[int] = []
    columns: list[int] = []
    for grams in by_length.values():
        starts.append(len(pool))
        for words, column in grams:
            pool.extend(words)
            columns.append(column)
    return graph.add(
        "TfIdfVectorizer",
        tokens,
        dtype=np.float32,
        mode="TF",
        min_gram_length=shortest,
        max_gram_length=longest,
        max_skip_count=0,
        ngram_counts=starts,
        ngram_indexes=columns,
        pool_strings=pool,
    )


def _check(vectorizer: Any) -> None:
    for name, plain in _PLAIN.items():
        if getattr(vectorizer, name) != plain:
            raise ValueError(
                f"to_onnx cannot write a TfidfVectorizer with {name}={getattr(vectorizer, name)!r};"
                f" expected {plain!r}, or text=False for a file that starts behind it."
            )
    if vectorizer.token_pattern not in _TOKENS:
        raise ValueError(
            f"to_onnx cannot write the token pattern {vectorizer.token_pattern!r}; expected one of "
            f"{', '.join(_TOKENS)}, or text=False for a file that starts behind the vectorizer."
        )
