"""What accompanies the steps of a run: guard, log, metrics, checkpoints."""
