"""Generators of the embedded samples in `data/` and `predictions/`."""
