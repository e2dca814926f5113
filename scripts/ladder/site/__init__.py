"""The course as a static site: which pages it has (pages.py), how mkdocs renders them (hooks.py, mkdocs.yml), a link
checker (links.py). And the playground: its pages (playground.py), what they run (programs.py, recordings.py)."""
