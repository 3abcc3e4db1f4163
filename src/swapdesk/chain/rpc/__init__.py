"""Clients of nodes: EVM (``evm``), Solana (``solana``), and the sandbox's ledger (``ledger``).

All use ``chain.node_http``: each sends a request once, within limits. An error says whether nothing
happened or whether this is not known. Answers are read strictly.
"""
