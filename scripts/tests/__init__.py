"""The tests of the scripts: python3 -m unittest discover, in scripts/."""
