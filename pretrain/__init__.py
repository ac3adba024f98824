"""Token shards to checkpoints: masking, samples, models, optimizers, DeepSpeed engine, export; decoders tuned."""
