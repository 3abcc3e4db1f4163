"""Encoding and reading of contract calls. Needs ``eth_abi``; the desk never imports it."""
