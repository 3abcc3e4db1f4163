"""Venues that fill orders: the interface of centralized venues, and the registry that guards every
call of a venue. A call first passes a capability check and a circuit breaker, equal calls are
shared, and a timeout ends it. The call ``open`` creates something at the venue, so it has the
timeout only."""
