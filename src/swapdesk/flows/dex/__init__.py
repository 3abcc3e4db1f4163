"""Carries out swaps on chains step by step; each step is journaled before it is done.

``dex_plan`` asks the service what a swap needs; ``dex_swap`` runs the steps. Approvals and
documents are signed, the package ``flows.creation`` creates the order, the order's transaction is
signed and sent, and the service is told of it. A new run continues where an earlier run stopped;
the wallet agent's records decide what was paid. ``swap_signing`` is the part that a screen shows.
"""
