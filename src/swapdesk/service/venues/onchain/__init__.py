"""On-chain venues: what they quote, what they ask a wallet to sign, and how they come to an end.

Quotes are worked out here with the integer formula of the contracts, from reserves that are
read once per block. Nothing here holds money of users; the intent venue's solver and the
portal's relayer pay from accounts of their own.
"""
