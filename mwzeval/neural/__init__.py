"""PyTorch models of any benchmark: their training, and their state as arrays."""
