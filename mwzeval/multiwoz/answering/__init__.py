"""An agent answers the turns of the corpus' own users, and predictions come of it."""
