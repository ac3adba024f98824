"""hunmin."""
