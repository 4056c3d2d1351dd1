"""Policies for dialogue management, with one file per policy."""
