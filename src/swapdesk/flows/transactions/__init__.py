"""Transactions that the wallet signed: which of them counts, and how they reach their end.

``delivery`` is the one loop that sends the same bytes until the transaction is final;
``same_nonce`` says which of several on one nonce counts.
"""
