"""Calls of contracts: what is encoded for them and what a payload says when it is read.

Needs ``eth_abi``; the desk never imports it. ``method`` is the encoding, the others name the
calls of one kind of contract each.
"""
