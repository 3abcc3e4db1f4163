"""Durable state: the subjects of ``Store``, over SQLite or PostgreSQL (``database``).

One set of statements serves both. The order stream reads the outbox.
"""
