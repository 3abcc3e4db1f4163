"""A swap on chains, step by step, each step journaled before it is done.

``dex_swap`` leads: ``dex_plan`` asks what is needed, approvals and documents are signed, the room
``creation`` creates the order, its transaction is signed and sent, and the service is told. A run
continues wherever an earlier one stopped; the wallet agent's records decide what was paid.
``swap_signing`` is the part a screen shows.
"""
