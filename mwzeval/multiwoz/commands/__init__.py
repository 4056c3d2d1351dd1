"""The commands that only MultiWOZ has."""
