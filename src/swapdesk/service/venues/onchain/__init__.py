"""On-chain venues: their quotes, what a wallet signs for them, and how their swaps end.

Quotes are computed here with the integer formula of the contracts, from reserves that are read once
per block. Nothing here holds money of users; the intent venue's solver and the portal's relayer pay
from accounts of their own.
"""
