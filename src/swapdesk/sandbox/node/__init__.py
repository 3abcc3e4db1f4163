"""The node: the process that holds the money: ledger chains (mere balances), embedded chains (which
execute transactions) and the exchanges' books.

On ledger chains, funds are conserved to the last unit, and every payment is a row of one table. For
an embedded chain, the ledger is only the exchanges' book; a payment is signed inside the
transaction that books it.
"""
