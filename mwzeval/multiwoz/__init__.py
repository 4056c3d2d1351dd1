"""MultiWOZ: from predictions to Inform, Success, BLEU, richness and state tracking."""

SCORING_REVISION = 2
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""
