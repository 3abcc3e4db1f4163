"""Orders: created from a quote, opened at their venues, and carried to their end by a worker.

The order row is the state of the workflow. The worker (``lifecycle``) asks venues between two
commits, never inside one, and writes the new state by compare-and-set. A create request
(``creation``) consumes the quote and writes the order in one commit; after a crash, the worker
finishes it with the same idempotency keys. A private order opens its second leg first, because the
first pays to that leg's deposit address. ``recovery`` moves or refunds a deposit that a venue will
not swap.
"""
