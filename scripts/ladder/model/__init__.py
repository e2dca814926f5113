"""The timing model: how its constants are measured, what it predicts, and what GPUs say of that."""
