"""Values and names found in responses in words."""
