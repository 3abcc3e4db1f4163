"""The simulated exchanges behind the service's venue protocol: ``exchange``, its ``pricing``.

A quote is a pure function of seed, sandbox time, pair, amount and terms, so that every process
computes the same. The accounts of exchanges live in the node and are keyed by the service's key.
"""
