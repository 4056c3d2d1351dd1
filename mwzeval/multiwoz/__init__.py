"""The MultiWOZ benchmark: Inform, Success, BLEU, richness and state tracking of predictions."""

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""The revision in every signature; it increases when the score of the same input changes."""
HEADLINE = ("inform", "success", "bleu", "combined")
"""The main scores of predictions."""
