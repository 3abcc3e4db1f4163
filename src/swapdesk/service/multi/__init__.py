"""Groups of orders: created together, funded together (contract 9.1 to 9.19).

``asking`` reads one order of a request, ``groups`` prices each by itself and writes them down in
one commit, and the worker opens them. ``bundles`` builds and takes the operations that fund them
on EVM chains, ``solana_batches`` the transactions that do on Solana; ``PayableOrders`` says which
orders await a deposit.

A bundle is kept as ``pending`` with the nonce that any other build of these orders would have.
Submitting moves it by compare-and-set with the signatures in the row; only then does
``BundleWatch`` hand it in and ask what became of it, also after a crash. Orders that a bundle
has paid, or still may pay, are in no other one (``StoredBundle.claimed``).
"""
