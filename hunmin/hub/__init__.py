"""The model hub: what leaves a run for it, the card beside it, and the way there."""
