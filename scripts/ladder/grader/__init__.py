"""The grader: whether a kernel that somebody has written does what a level is about."""
