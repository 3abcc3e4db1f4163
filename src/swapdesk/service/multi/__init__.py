"""Groups of orders: created together, funded together (contract 9.1 to 9.19).

``groups`` checks and prices each order of a request by itself and writes all in one commit; the
worker opens them. ``funding`` finds those that await a deposit and builds what funds them:
operations on EVM chains, whose signatures it takes, transactions on Solana.

A bundle is stored as ``pending`` with the nonce that any other build of these orders would have.
Submitting moves it by compare-and-set with the signatures in the row; only then does
``BundleWatch`` send it and follow its outcome, also after a crash. Orders that a bundle has paid,
or still may pay, are in no other one (``StoredBundle.claimed``).
"""
