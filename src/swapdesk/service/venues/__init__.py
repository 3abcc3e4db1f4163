"""Venues that fill orders: the interface of centralized venues, and the registry with its guards.

Each call of a venue passes through ``registry``, which adds a capability check, a circuit breaker,
sharing of equal questions, and a timeout. The call ``open`` creates something at the venue, so it
is guarded by a timeout only.
"""
