"""Orders: created from a quote, opened at their venues, and carried to their end by a worker. The
order row is the state of the workflow: status, leg statuses and a rank that only grows, with
``due_at`` and a lease. The worker (``lifecycle``) claims orders that are due, asks venues between
two commits, never inside one, and commits the new state with its outbox row by compare-and-set.
What is displayed follows from the row alone (``states``, ``presentation``).

A create request (``creation``) consumes the quote and writes the order in one commit, asks the
venue with an idempotency key (``route_opening``), and commits the deposit address. If a crash
interrupts it, the worker finishes with the same key. A private order opens its second leg first, so
that the first pays straight to the second's deposit address.

If a venue will not swap a deposit, the row stores a move (``recovery``): which leg, who holds the
money, who takes over, and under which key. Floating orders move to another venue, fixed ones are
refunded. A private fixed order that fails part-way buys back the token that was sent.
"""
