"""Floor 1: what every stage needs and no stage owns — errors, settings, files, progress, manifests."""
