"""DSTC7 track 1, sentence selection: select the next utterance of a dialogue from candidates.

No module outside this package uses DSTC7. Source: the track's task description (IBM/dstc7-noesis);
Gunasekara et al., "DSTC7 Task 1: Noetic End-to-End Response Selection", NLP4ConvAI 2019.
"""

NAME = "dstc7"
TITLE = "DSTC7"

SCORING_REVISION = 2
"""The revision in every signature, which increases when the score of an unchanged input changes."""
