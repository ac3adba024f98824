"""What makes a step fast: attention, cross-entropy, numeric types, compilation."""
