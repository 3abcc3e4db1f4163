"""What is kept: one protocol (``Store`` in ``records``), and SQLite behind it (``sqlite``) with one
writer (``database``).

Work that is queued shares one flush to disk, each piece under a savepoint of its own, and is
answered after the commit. ``books`` keeps the sums and commissions of partners. The outbox is what
the order stream reads.
"""
