"""Metrics that do not depend on a data set."""
