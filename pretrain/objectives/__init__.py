"""Objectives: the losses that a model learns by, a file each."""
