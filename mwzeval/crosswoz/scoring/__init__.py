"""The scores of every track, and what stands beside them."""
