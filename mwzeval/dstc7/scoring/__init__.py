"""Rows, measures and explanations of submissions."""
