"""Live dialogues in words: any agent talks to a user about a goal, with tools on the database."""
