"""Many dialogues beside each other: in processes that can be killed, or in threads."""
