"""Addresses of every kind of chain: checked, recognised, shown, written as links.

A kind is one object (``kind``), in the module of its form; ``kinds`` has all of them. Everything
else reads from the object: ``checking``, ``payments``, ``display``.
"""
