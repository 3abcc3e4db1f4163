"""What goes wrong on purpose: faults and the clock of a sandbox, and orders to practise on.

``triggers`` sets one fault on an order, a provider or a chain; ``practice`` makes the twelve cases,
each with its answer. Command and screen only show what these two say.
"""
