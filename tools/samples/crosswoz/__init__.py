"""The sample of CrossWOZ: an invented city, simulated conversations, and predictions of rules."""

from tools.samples.crosswoz.sample import files as files
