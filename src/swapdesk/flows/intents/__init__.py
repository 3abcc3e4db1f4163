"""What the trader confirmed, and whether its address may be shown: words that every room uses.

``intent`` is what was confirmed, ``dex_terms`` what an on-chain swap adds. ``standing`` is kept
with the order in the journal and moved by compare-and-set only.
"""
