"""Orders: created from a quote, opened at their venues, carried to their end by a worker.

The order row is the workflow: status, leg statuses and a rank that only grows, with ``due_at`` and
a lease. The worker (``lifecycle``) claims rows that are due, acts between two commits and never
inside one, and commits the new state with its outbox row by compare-and-set. What is displayed is
a pure function of the row (``states``, ``presentation``).

A create (``creation``) consumes the quote and writes the order in one commit, asks the venue by a
key that always means the same leg (``route_opening``), and commits the deposit address. What a
crash interrupts the worker finishes by the same key. A private order opens its second leg first, so
that the first pays straight to the second's deposit address.

A venue that gives up a deposit leaves a move in the row (``recovery``): which leg, who holds the
money, who takes over, under which key. Floating orders move to another venue,
fixed ones go back; a private fixed order that fails part-way buys back the token that was sent.
"""
