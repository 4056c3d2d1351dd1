"""CrossWOZ: Chinese cross-domain dialogues (Zhu et al., TACL 2020)."""

NAME = "crosswoz"
TITLE = "CrossWOZ"

SCORING_REVISION = 3
"""The revision in every signature, which increases when the score of an unchanged input changes."""

META = "_meta"
"""The key of a file's header."""
LEARNED_FROM = "learned_from"
"""The key, in the header, of the folds on which a model was trained."""
