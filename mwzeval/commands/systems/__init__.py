"""The files that verbs are about: of systems that are scored, or with scores of items."""
