"""TRADE: a tracker that reads the words of a dialogue and writes the system's state."""
