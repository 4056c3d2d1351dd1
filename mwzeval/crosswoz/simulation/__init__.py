"""Simulated dialogues: users, goals, runs, logs, and what came of them."""
