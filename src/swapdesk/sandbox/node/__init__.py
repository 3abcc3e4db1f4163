"""The node: the process that holds the money, that is ledger chains (simulated as mere balances),
embedded chains (which execute transactions) and the exchanges' books.

``node`` has the table of methods, ``ledger`` the ledger chains, ``evm`` and ``solana`` the embedded
ones. ``settlement`` moves deposits to their payouts. On the ledger chains, funds are conserved to
the last unit.

Every payment is a row of one table: payouts of exchanges, deposits of legs, and payments that are
signed but in no block yet. What a leg reports as received, paid and refunded is read from that
table.

For an embedded chain, the ledger is only the exchanges' book, and the money itself is on the chain.
A payment is signed inside the transaction that books it. The books are brought up to the newest
block before anything that is due is done.
"""
