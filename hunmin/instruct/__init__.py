"""Runs that tune a decoder: their recipe, their stages, what a dry run says of them."""
