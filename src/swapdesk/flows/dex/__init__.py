"""A swap on chains, step by step, each journaled before what it does.

``dex_swap`` leads: ``dex_plan`` asks what it takes, approvals and documents are signed, the room
``creation`` creates the order. Then its transaction is signed and sent, and the service is told. A
run goes on wherever an earlier one stopped, and the wallet agent's records decide what was paid.
``swap_signing`` is what a screen shows of it.
"""
