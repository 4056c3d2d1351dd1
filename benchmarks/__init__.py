"""Timed scripts: `python -m benchmarks` runs them and writes ratios to sacreBLEU's time."""
