"""What every benchmark reduces to: tables of rows, measures over them, scores with signatures."""
