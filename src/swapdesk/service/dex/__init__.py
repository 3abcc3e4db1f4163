"""On-chain swaps: quotes, permissions, orders and their progress.

The venues themselves are in ``service/venues/onchain``.
"""
