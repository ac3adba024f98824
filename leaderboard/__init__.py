"""Scores of decoders by lm-eval: task files, rules, constant answers, reports, correlations."""
