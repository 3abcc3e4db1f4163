"""Addresses of every kind of chain: checked, recognised, grouped to be read, written as links.

``decoding`` is the check, with one module for each kind behind it and ``verdict`` what it says;
``recognition`` has the table of kinds, ``networks`` the chains that share one. ``patterns`` is the
service's own rule, which may only narrow. ``memos``, ``payment_uri``, ``explorers``, ``grouping``
and ``lookalike`` are what else depends on a kind; ``derive`` makes addresses for simulations.
"""
