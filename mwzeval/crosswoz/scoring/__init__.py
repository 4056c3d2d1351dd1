"""The scores of every track, and the baselines that are shown next to them."""
