"""The verbs that only MultiWOZ has."""
