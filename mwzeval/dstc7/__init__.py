"""DSTC7 track 1, sentence selection: which of many utterances comes next in a dialogue.

Below this folder nothing knows DSTC7. Source: the track's task description (IBM/dstc7-noesis);
Gunasekara et al., "DSTC7 Task 1: Noetic End-to-End Response Selection", NLP4ConvAI 2019.
"""

NAME = "dstc7"
TITLE = "DSTC7"

SCORING_REVISION = 2
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""
