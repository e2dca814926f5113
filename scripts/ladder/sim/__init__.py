"""What the levels do on the simulated device."""
