"""On-chain venues: their quotes, what a wallet signs for them, and how their swaps end. No part of
this package holds users' money."""
