"""A dialogue as both sides see it: domain, user, error model, tracker, simulation."""
