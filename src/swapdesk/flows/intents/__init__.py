"""What the trader confirmed, and whether its address may be shown: words that every room uses.

``intent`` holds both. The release of an address is kept with the order in the journal and moved by
compare-and-set only.
"""
