"""The Markdown files, whose marked blocks are rendered."""
