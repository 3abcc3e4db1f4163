"""Venues: what fills an order. One adapter protocol, its generic wrappers and the registry.

Each call passes through (``wrappers``): capability check, circuit breaker, token bucket, bulkhead,
timeout, single-flight and hedge (``flights``). ``open`` creates something and has bulkhead and
timeout alone.
"""
