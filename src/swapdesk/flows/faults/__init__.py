"""Faults and the clock of a sandbox, and orders on which to practise support.

``triggers`` sets a fault on an order, a provider or a chain; ``practice`` makes twelve cases, each
with its answer. The command and the screen only show the results of these modules.
"""
