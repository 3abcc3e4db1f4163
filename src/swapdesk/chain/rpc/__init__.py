"""Clients of nodes: EVM (``evm``), Solana (``solana``), and the sandbox's ledger (``ledger``).

All stand on ``chain.node_http``: each asks once, within bounds; an error says whether nothing
happened or whether that is not known. Answers are read strictly.
"""
