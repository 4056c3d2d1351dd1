"""Who can take the place of the simulated user: people, own code, models."""
