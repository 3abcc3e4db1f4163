"""What is kept: one protocol (``protocol``), and SQLite behind it with one writer (``writer``).

Work that is queued shares one flush to disk, each piece under a savepoint of its own, and is
answered after the commit. ``outbox`` is what the order stream reads.
"""
