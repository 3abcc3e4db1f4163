"""Durable state of the service: the subjects of ``Store``, over SQLite or PostgreSQL
(``database``).

Both databases run the same statements. The order stream reads the outbox.
"""
