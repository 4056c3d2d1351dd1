"""Act-level live dialogues with an exact port of ConvLab-2's user, system and evaluator."""
