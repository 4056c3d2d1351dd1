"""Benchmark runs: policies trained and tested, and what came of it."""
