"""Metrics that know no dataset."""
