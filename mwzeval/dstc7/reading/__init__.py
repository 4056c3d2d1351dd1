"""The files of the track and of submissions, read and checked."""
