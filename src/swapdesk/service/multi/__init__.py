"""Groups of orders: created together, funded together (contract 9.1 to 9.19).

``groups`` reads each order of a request, prices it by itself and writes all down in one commit;
the worker opens them. ``funding`` finds those that await a deposit, and builds what funds them:
operations on EVM chains, whose signatures it takes, transactions on Solana.

A bundle is kept as ``pending`` with the nonce that any other build of these orders would have.
Submitting moves it by compare-and-set with the signatures in the row; only then does
``BundleWatch`` hand it in and ask what became of it, also after a crash. Orders that a bundle
has paid, or still may pay, are in no other one (``StoredBundle.claimed``).
"""
