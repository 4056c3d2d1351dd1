"""Files of live dialogues, scored: read, judged, summed up and explained, without any agent."""
