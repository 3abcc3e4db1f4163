"""Venues that fill orders: the protocol of centralized venues, and the registry with its guards.

Each call of a venue passes through ``registry``: capability check, circuit breaker, single flight
and timeout. ``open`` creates something at the venue, so it has a timeout alone.
"""
