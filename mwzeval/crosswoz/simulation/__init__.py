"""Simulated dialogues: users, goals, runs, logs, and what came of them."""

from mwzeval.moved import names_of

__getattr__ = names_of(__name__, "mwzeval.crosswoz.simulation.dialogue")
