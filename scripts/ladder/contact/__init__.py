"""First contact: what a GPU does, beside what the simulated device does, fact by fact."""
