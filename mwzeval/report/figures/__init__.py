"""Figures for papers: scores with intervals, parts as heat maps, reasons."""
