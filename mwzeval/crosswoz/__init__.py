"""CrossWOZ: Chinese cross-domain dialogues (Zhu et al., TACL 2020)."""

NAME = "crosswoz"
TITLE = "CrossWOZ"

SCORING_REVISION = 3
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""

META = "_meta"
"""The key of what a file says of itself."""
LEARNED_FROM = "learned_from"
"""The key, in it, of the folds that a model has seen in training."""
