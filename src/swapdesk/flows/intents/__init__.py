"""Two things that all other packages use: the intent, which is the swap that the trader confirmed,
and the release, which says whether an order's deposit address may be shown. Both are in ``intent``.

The release is kept with the order in the journal. Each change of the release names the state that
it replaces, so that no later decision is overwritten.
"""
