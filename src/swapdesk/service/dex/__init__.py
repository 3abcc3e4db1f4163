"""Swaps on chains as the service offers them: quotes, permissions, orders and their way.

The venues themselves are in ``service/venues/onchain``.
"""
