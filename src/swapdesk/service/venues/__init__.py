"""Venues that fill orders: the interface of centralized venues, and the registry that guards every
call of a venue."""
