"""Groups of orders: created together, funded together (contract 9.1 to 9.19).

``asking`` reads one order of a request, ``groups`` creates and shows them, ``bundles`` builds,
takes and follows the operations that fund them on EVM chains, ``solana_batches`` the
transactions that do on Solana; ``payable`` says which orders await a deposit.
"""
