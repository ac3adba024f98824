"""What a run would do and take, before anything runs: `hunmin plan` and `hunmin run --dry-run`."""
