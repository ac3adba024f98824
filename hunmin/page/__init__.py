"""A run as one HTML page: facts are read from its folder, and pure functions turn them into HTML."""
