"""Pictures, drawn from what the levels say and do; charts, drawn from the figures."""
