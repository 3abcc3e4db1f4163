"""The initial content of the embedded EVM chains: tokens, pools and venues.

``genesis.world_contracts`` is the content of one chain as allocations of block 0, with its pools
and the contract of each token. ``keeper`` moves the pools with the market while somebody uses a
chain, as ``plan`` says, and gives tokens away. Prices of block 0 are the assets' base prices, so
that a chain has the same first block at every start; the keeper brings the pools to the market of
the day.
"""
