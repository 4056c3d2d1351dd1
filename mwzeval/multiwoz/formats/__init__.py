"""Readers of predictions. Each reader converts a format to mwzeval's own format."""
