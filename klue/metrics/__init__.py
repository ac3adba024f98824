"""The benchmark's metrics as its authors compute them: pure functions on gold and predictions, scores × 100."""
