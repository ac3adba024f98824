"""Tokenizer stages: train a morpheme-aware WordPiece vocabulary on a corpus, and encode the corpus to token shards."""
