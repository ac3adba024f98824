"""Sentence embeddings: data sets to a tuned encoder by sentence-transformers, scores by mteb."""
