"""What makes runs comparable that differ in vocabulary, masking or shape: bits per byte, and FLOP for equal quality."""
