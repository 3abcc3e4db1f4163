"""The process that has the money: ledger chains, embedded chains, the exchanges' books.

``node`` is its table of methods, ``ledger`` the chains without a machine, ``evm`` and ``solana``
those with one; ``settlement`` moves deposits on. Funds on the ledger chains are conserved to the
last unit. Every payment is a row of one table: an exchange's payout, a deposit of a leg, and what
is signed and in no block yet. What a leg reports as received, paid and refunded is read from there.

On embedded chains the ledger is the exchanges' book and the chain the money (``settlement``). A
payment is signed inside the transaction that books it. Before anything that is due the books are
brought up to the newest block.
"""
