"""The commands of MultiWOZ only."""
