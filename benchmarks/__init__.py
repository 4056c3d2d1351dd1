"""Timed scripts: `python -m benchmarks` runs all of them and writes `results.md`."""
