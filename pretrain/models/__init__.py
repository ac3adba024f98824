"""Encoders, a file an architecture, and what all of them share."""
