"""Reads, checks and counts predictions."""
