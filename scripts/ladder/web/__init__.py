"""What the playground runs: recordings of programs, and the places at which a reader may change them."""
