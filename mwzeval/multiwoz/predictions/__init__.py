"""Predictions as people write them: read, checked, counted."""
