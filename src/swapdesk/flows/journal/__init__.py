"""What the desk writes down before it acts: one file, and a log for each kind of act."""
