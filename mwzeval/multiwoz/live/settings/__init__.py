"""Who talks to whom in a live run on MultiWOZ: in words, or in acts."""
