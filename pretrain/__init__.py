"""Floor 4: token shards to checkpoints — masking, order, samples, model, DeepSpeed engine, checkpoints, export."""
