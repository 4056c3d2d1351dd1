"""Runs: policies trained, tested and played with, their files, and their scores."""
