"""Models that are trained with PyTorch: NLU, TRADE, SC-LSTM and the SL policy."""

from mwzeval.libraries import required

required("torch")
