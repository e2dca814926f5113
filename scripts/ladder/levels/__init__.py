"""The levels: which there are, what their kernels say of themselves, their labs, and what runs them."""
