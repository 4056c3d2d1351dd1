"""Reports: one model, and a module per output format."""
