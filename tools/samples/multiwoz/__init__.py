"""The sample of MultiWOZ: an invented town, its dialogues, and the predictions of five systems."""

from tools.samples.multiwoz.sample import files as files
