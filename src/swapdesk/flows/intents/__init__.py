"""Defines what the trader confirmed (the intent) and whether an order's deposit address may be
shown (its release). Both are in ``intent``, and all other packages use them. The release is kept
with the order in the journal. Each change of it names the state that it replaces, so that no later
decision is overwritten."""
