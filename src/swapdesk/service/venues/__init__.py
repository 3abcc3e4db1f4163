"""Venues: what fills an order. One adapter protocol, its generic wrappers and the registry."""
