"""Paying the deposit of an order: what is shown, and how the wallet or the faucet pays it.

``deposit_phase`` decides whether it may be shown and sent, and as which code, ``funding`` who can
pay it, and pays from the sandbox's faucet; ``wallet_funding`` pays from the wallet. The journal has
the payment before anything is signed.
"""
