"""Clients of nodes: EVM (``evm``), Solana (``solana``), and the sandbox's ledger (``ledger``). All
are based on ``chain.node_http``, which sends each request once, within limits. After an error, its
class says whether it is certain that nothing happened. Answers are read strictly."""
