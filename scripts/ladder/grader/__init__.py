"""The grader: whether a reader's kernel does what a level is about."""
