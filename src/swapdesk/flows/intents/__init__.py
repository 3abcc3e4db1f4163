"""What the trader confirmed, and whether its deposit address may be shown; every room uses these
words.

``intent`` holds both. The release of an address is kept with the order in the journal and moved by
compare-and-set only.
"""
