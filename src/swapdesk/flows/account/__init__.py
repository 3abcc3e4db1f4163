"""The user's own account, as the command line and the screen show it."""
