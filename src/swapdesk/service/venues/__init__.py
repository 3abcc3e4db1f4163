"""Venues: what fills an order. One adapter protocol, and the registry with its guards.

Each call passes through (``registry``): capability check, circuit breaker, token bucket, bulkhead,
timeout, single-flight and hedge. ``open`` creates something and has bulkhead and
timeout alone.
"""
