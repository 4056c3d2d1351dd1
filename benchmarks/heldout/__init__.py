"""Sentences that no rule is tuned by, filled from a database with true and false claims."""
