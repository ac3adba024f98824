"""Tuning of causal decoders on instructions, by transformers' Trainer."""
