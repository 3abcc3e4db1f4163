"""Addresses of every kind of chain: checked, recognised, grouped to be read, written as links.

A kind is one object (``kind``), in the module of its form; ``kinds`` has all of them. Everything
else reads from the object: ``decoding`` checks, ``patterns`` narrows by the service's own rule,
``memos``, ``payment_uri``, ``explorers``, ``grouping`` and ``lookalike`` are what else depends on
a kind, and ``derive`` makes addresses for simulations.
"""
