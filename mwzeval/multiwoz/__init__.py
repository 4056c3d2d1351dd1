"""MultiWOZ: from predictions to Inform, Success, BLEU, richness and state tracking."""

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""
HEADLINE = ("inform", "success", "bleu", "combined")
"""The main scores of predictions."""
