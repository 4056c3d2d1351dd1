"""The page: one HTML file with scores, reasons and units."""
