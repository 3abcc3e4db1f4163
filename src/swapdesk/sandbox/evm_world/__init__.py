"""What stands on the embedded EVM chains before anybody comes: tokens, pools and venues.

``genesis.world_contracts`` is everything of one chain as allocations of block 0, and
says which pools there are and what contract a token has. ``keeper`` moves the pools after the
market while somebody looks at a chain, as ``plan`` says, and gives tokens away.

Prices of block 0 are the assets' base prices, so that a chain has the same first block at every
start; the keeper brings the pools to the market of the day.
"""
