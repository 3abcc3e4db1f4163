"""The partner's own account, as the command line and the screen show it: limits, commissions and
volume."""
