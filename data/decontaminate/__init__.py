"""Decontamination: exact, fast search for benchmark sentences in corpus sentences (BM25 containment and more)."""
