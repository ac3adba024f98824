"""Repeated documents, near copies, paragraphs, sentences: keys made in the units, survivors chosen in the assembly."""
