"""Converts the formats of predictions to mwzeval's own format."""
