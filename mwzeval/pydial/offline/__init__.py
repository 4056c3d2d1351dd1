"""Data sets of dialogues that others have had, and learning from nothing else."""
