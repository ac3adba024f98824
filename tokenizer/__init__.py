"""Text to ids: morphemes, vocabulary training, fast encoding into token shards, comparison tables."""
