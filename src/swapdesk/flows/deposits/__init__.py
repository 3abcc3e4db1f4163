"""Paying the deposit of an order: what is shown, and how the wallet or the faucet pays it.

``deposit_phase`` decides whether it may be shown and sent, and as which code, ``deposit_ways`` who
can pay it. ``wallet_funding`` pays from the wallet and ``funding`` from the sandbox's faucet. The
journal has the payment before anything is signed.
"""
