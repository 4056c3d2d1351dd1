"""The two clocks: of the package, and of the meaning of its scores."""

__version__ = "0.1.0"
SCORING_REVISION = 1
"""Raised whenever the same input gets another number; part of every signature."""
