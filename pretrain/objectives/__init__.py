"""What a model learns from its batches, a file an objective."""
