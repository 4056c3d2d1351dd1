"""The MultiWOZ benchmark: Inform, Success, BLEU, richness and state tracking of predictions."""

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""Increases when the score of the same input changes; part of every signature of the benchmark."""
HEADLINE = ("inform", "success", "bleu", "combined")
"""The main scores of predictions."""
