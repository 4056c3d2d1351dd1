"""Readers of predictions; each converts one format to mwzeval's own format."""
