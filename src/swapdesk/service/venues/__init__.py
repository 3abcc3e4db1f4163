"""Venues that fill orders: one adapter protocol, and the registry with its guards.

Each call passes through ``registry``: capability check, circuit breaker, single flight and timeout.
``open`` creates something and has a timeout alone.
"""
