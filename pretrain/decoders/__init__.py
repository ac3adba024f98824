"""Decoders: which ones are taken, how they are prompted, what they answer."""
