"""Optimizers and schedules, a file each."""
