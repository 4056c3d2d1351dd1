"""Predictions as people write them: read, checked, and what they can be scored for."""
