"""docs/results: figures as data, as text and as tables, and how they are measured."""
