"""Encoding and reading of contract calls.

Needs ``eth_abi``; the desk never imports it. ``method`` has the encoding; each other module lists
the calls of one kind of contract.
"""
