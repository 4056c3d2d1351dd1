"""SC-LSTM: generation of sentences from dialogue acts by a semantically conditioned LSTM."""
