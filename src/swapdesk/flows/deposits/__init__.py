"""Paying the deposit of an order: what is shown, and how the wallet or the faucet pays it."""
