"""Faults of a sandbox and its clock, and orders to practise support on.

``triggers`` sets a fault on an order, a provider or a chain; ``practice`` makes twelve cases, each
with its answer. Command and screen only show their results.
"""
