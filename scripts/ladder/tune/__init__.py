"""Parameter spaces of a kernel, and sweeping them."""
