"""Kernels that make a step fast: attention, cross-entropy, numeric types, compilation."""
