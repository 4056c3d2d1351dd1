"""Live dialogues in acts: user, system and evaluator of ConvLab-2, to the letter."""
