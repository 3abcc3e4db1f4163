"""The initial content of the embedded EVM chains: tokens, pools and venues. ``genesis`` makes block
0, with pools at base prices; ``keeper`` then brings the pools to market prices while a chain is
used."""
