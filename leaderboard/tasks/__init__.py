"""Task files of lm-eval, and the functions that they name."""
