"""What the benchmark authors' code makes of a model's outputs where ours makes something else: `…_as_published`."""
