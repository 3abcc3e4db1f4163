"""Addresses of every kind of chain: checking, recognising, showing and writing payment links.

Each kind of address is one object (``kind``), defined in the module of its form; ``kinds`` lists
all of them. The other modules (``checking``, ``payments``, ``display``) read everything from these
objects.
"""
