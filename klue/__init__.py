"""klue."""
