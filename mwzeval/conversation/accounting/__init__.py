"""What models have used in dialogues: requests, tokens and time, and what that costs."""
