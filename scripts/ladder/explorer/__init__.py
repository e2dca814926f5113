"""Pages that let a reader look into a run on the simulated device."""
