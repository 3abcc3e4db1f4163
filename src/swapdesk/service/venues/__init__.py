"""Venues that fill orders: the interface of centralized venues, and the registry that guards every
call of a venue.

The guards are a capability check, a circuit breaker, sharing of equal calls, and a timeout. The
call ``open`` creates something at the venue, so it has the timeout only.
"""
