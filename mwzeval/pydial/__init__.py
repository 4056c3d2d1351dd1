"""Dialogue management as reinforcement learning: the tasks of the PyDial benchmark.

Source: Casanueva et al., "A Benchmarking Environment for Reinforcement Learning Based Task Oriented
Dialogue Management", 2017, arXiv:1711.11023.
"""

NAME = "pydial"
TITLE = "PyDial"

SCORING_REVISION = 3
"""The scoring revision, which is part of every signature. The revision increases when the scores of
the same input change."""
