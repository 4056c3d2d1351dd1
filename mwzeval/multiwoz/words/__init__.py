"""Find values and names in lexicalized responses."""
