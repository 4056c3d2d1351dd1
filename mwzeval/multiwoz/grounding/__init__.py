"""What responses in words say, compared with the database and the log of tools."""
