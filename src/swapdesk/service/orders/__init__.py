"""Orders: created from a quote, opened at their venues, carried to their end by a worker.

``creation`` and ``opening`` are the first half, ``lifecycle`` is the worker, ``progress`` and
``states`` say purely what follows from what; ``recovery`` is what becomes of a lost deposit.
"""
