"""What responses in words say, held against the database."""
