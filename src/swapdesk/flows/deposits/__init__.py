"""Paying the deposit of an order: what is shown, and how the wallet or the faucet pays.

``deposit_phase`` decides whether and as which code it may be shown and sent; ``funding`` decides
who can pay and pays from the sandbox's faucet; ``wallet_funding`` pays from the wallet. The journal
has every payment before anything is signed.
"""
