"""Clients of nodes: EVM, Solana, and the sandbox's ledger. Each request is sent once; the class of
an error says whether it is certain that nothing happened. Answers are read strictly."""
