"""The invented town, its dialogues and the example predictions for MultiWOZ."""
