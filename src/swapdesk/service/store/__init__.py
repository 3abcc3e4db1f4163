"""What is kept: the subjects of ``Store``, over SQLite or PostgreSQL (``database``).

One set of statements serves both. The outbox is what the order stream reads.
"""
