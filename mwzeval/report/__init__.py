"""Reports: common data types, and a module per output format."""
