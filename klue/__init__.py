"""Fine-tuning and scores of encoders: tasks, heads, metrics, jobs, predictions, tables."""
