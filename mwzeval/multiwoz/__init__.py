"""The MultiWOZ benchmark: Inform, Success, BLEU, richness and state tracking of predictions."""

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""The revision in every signature. It is increased when the scores of the same input change."""
HEADLINE = ("inform", "success", "bleu", "combined")
"""The main scores of predictions."""
