"""Live dialogues: an agent talks to a user with a goal, and calls tools on the database."""
