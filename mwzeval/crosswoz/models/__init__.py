"""Models that require PyTorch: NLU, TRADE and SC-LSTM."""

from mwzeval.libraries import required

required("torch")
