"""MultiWOZ: from predictions to Inform, Success, BLEU, richness and state tracking."""
