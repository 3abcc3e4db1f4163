"""Transactions that the wallet signed: which of them counts, and how they reach their end."""
