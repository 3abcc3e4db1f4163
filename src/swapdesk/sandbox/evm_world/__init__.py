"""The initial content of the embedded EVM chains: tokens, pools and venues.

``genesis.world_contracts`` returns the content of one chain as allocations of block 0, with its
pools and the contract of each token. ``keeper`` moves the pools with the market while a chain is
used, as ``plan`` computes, and gives tokens away. Block 0 has the assets' base prices, so that a
chain has the same first block at every start; afterwards the keeper moves the pools to the current
market.
"""
