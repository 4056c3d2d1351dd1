"""Read predictions, check them, and count their turns and dialogues."""
