"""Recipes: read, written, completed, and refused before anything runs."""
