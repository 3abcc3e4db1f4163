"""Faults and the clock of a sandbox, and orders on which to practise support. ``triggers`` sets a
fault on an order, a provider or a chain; ``practice`` creates twelve orders with problems, each
with the right diagnosis. The commands and screens only show what these modules return."""
