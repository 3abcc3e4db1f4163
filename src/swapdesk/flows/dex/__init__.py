"""A swap on chains, step by step, each journaled before what it does.

``dex_swap`` leads: ``dex_permission`` has approvals and documents signed, ``creation`` creates
the order, ``swap_transaction`` signs and sends its transaction, ``dex_confirmation`` tells the
service. A run goes on wherever an earlier one stopped, and the wallet agent's records decide what
was paid. ``running_swaps`` keeps the sessions of a run and opens keys when they are first needed;
``signing_steps`` reads the line of steps from the journal.
"""
