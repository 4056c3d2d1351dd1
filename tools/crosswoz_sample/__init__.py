"""The invented city, its dialogues and the example predictions for CrossWOZ."""
