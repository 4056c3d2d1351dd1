"""The tasks as decision processes and Gymnasium environments."""
