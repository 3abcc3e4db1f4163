"""On-chain venues: their quotes, what a wallet signs for them, and how their swaps end.

Quotes are computed here with the integer formula of the contracts, from reserves that are read once
per block. No part of this package holds users' money. The solver of the intent venue and the
relayer of the portal pay with their own money.
"""
