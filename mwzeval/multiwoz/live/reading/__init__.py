"""What an agent says to a user that thinks in acts: values, questions, refusals, bookings."""
