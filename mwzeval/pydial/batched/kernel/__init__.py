"""The compiled step of many dialogues: system acts, channel, tracker and what is seen."""
