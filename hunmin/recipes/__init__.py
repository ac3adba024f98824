"""What a user asks for: recipes read, written, completed and refused before anything runs."""
