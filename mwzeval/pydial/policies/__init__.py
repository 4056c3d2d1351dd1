"""Policies for dialogue management, a file each."""
