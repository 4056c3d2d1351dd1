"""What became of a live dialogue: what was said, settled on, told and booked, and what was lost."""
