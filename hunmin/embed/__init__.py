"""Runs that tune sentence embeddings: their recipe, their stage, what is printed of their data."""
