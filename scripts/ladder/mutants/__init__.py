"""Kernels without one of their fences, waits, arrivals or barriers: what is left of them, on hardware and simulated."""
