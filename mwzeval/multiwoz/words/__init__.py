"""Finds values and names in lexicalized responses."""
