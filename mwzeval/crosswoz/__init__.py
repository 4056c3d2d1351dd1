"""CrossWOZ: Chinese cross-domain dialogues (Zhu et al., TACL 2020)."""

SCORING_REVISION = 2
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""
