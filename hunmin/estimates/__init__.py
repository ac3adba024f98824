"""The plan of a run (its stages and their cost), before anything runs: `hunmin plan`, `hunmin run --dry-run`."""
