"""Batches of orders, created together and paid together (contract 9.1 to 9.19).

``groups`` checks, prices and writes the orders, which the worker opens. ``funding`` builds what
pays their deposits: a bundle of operations on EVM chains, or transactions on Solana. ``bundles``
submits a bundle once its signatures are stored. An order that a bundle has paid, or still may pay,
is in no other bundle.
"""
