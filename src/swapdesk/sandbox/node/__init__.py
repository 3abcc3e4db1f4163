"""The process that has the money: ledger chains, embedded chains, the exchanges' books.

``node`` is its table of methods, ``ledger`` the chains without a machine, ``evm`` and ``solana``
those with one; ``settlement`` moves what arrived on. Funds on the ledger chains are conserved to
the last unit.

On embedded chains the ledger is the exchanges' book and the chain the money (``chain_books``). A
payment is signed inside the transaction that books it. Before anything that is due the books are
brought up to the newest block: what is read twice is booked once, and what was unwound is booked
back. A leg that needs a chain which is not open waits for it.
"""
