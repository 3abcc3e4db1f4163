"""Something while it is looked at, signed, sent, and followed to its end."""
