"""Readers of predictions. Each reader converts one format to mwzeval's own format."""
