"""Programs that made what `data/` and `predictions/` embed; the package does not need them."""
