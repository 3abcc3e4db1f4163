"""Pays the deposit of an order: what the screen shows of the deposit, and how the wallet or the
sandbox's faucet pays it.

``deposit_phase`` decides whether the deposit address may be shown, and makes the codes to scan.
``funding`` decides who can pay, and pays from the faucet. ``wallet_funding`` pays from the wallet.
Every payment is written to the journal before anything is signed.
"""
