"""The initial content of the embedded EVM chains: tokens, pools and venues.

``genesis.world_contracts`` returns the accounts and contracts of block 0 of one chain. ``keeper``
moves the pools with the market while a chain is used, as ``plan`` computes, and gives tokens away.
In block 0 the pools are at the assets' base prices, so that a chain has the same first block at
every start; afterwards the keeper moves them to the current market.
"""
