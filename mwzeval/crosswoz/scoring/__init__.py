"""The scores of every track, and what is shown next to them."""
