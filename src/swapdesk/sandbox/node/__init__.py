"""The process that has the money: ledger chains, embedded chains, the exchanges' books.

``node`` is its table of methods, ``ledger`` the chains without a machine, ``evm`` and ``solana``
those with one; ``settlement`` moves what arrived on, ``chain_books`` keeps books and chains equal.
"""
