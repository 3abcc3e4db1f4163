"""Groups of orders, which are created together and funded together (contract 9.1 to 9.19).

``groups`` checks and prices each order of a request individually and writes all of them in one
commit; the worker opens them. ``funding`` finds the orders that await a deposit and builds what
pays them: operations on EVM chains, which the sender signs and this service submits, or
transactions on Solana.

A bundle (the operations for a group) is stored as ``pending``, with the nonces that any other build
of these orders would have. Submitting stores the signatures and changes the state by
compare-and-set; only then does ``BundleWatch`` send the bundle and follow its outcome, also after a
crash. Orders that a bundle has paid, or still may pay, are in no other bundle
(``StoredBundle.claimed``).
"""
