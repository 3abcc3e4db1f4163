"""The patterns the sandbox publishes for addresses and contracts (contract 5.1).

They are of the kind live services publish: the shape of an address, not its checksum. The
desk's own decoders decide; a pattern may only narrow.
"""

from __future__ import annotations

_BASE58 = "1-9A-HJ-NP-Za-km-z"
_BECH32 = "02-9ac-hj-np-z"
_EVM = r"^(0x)[0-9A-Fa-f]{40}$"
_SOLANA = rf"^[{_BASE58}]{{32,44}}$"
_XRP = rf"^r[{_BASE58}]{{24,34}}$"
_XLM_ACCOUNT = r"^G[A-D][A-Z2-7]{54}$"
_TON = r"^([EU]Q[A-Za-z0-9_-]{46}|0:[0-9a-fA-F]{64})$"
_TRON = rf"^T[{_BASE58}]{{33}}$"

NO_CONTRACTS = r"^$"

_ADDRESS_PATTERNS = {
    "evm": _EVM,
    "sol": _SOLANA,
    "bitcoin": (rf"^(bc1q[{_BECH32}]{{38}}|bc1[pq][{_BECH32}]{{58}}|[13][{_BASE58}]{{25,34}})$"),
    "ltc": (rf"^(ltc1q[{_BECH32}]{{38}}|ltc1[pq][{_BECH32}]{{58}}|[LM][{_BASE58}]{{33}})$"),
    "doge": rf"^[DA9][{_BASE58}]{{33}}$",
    "bch": rf"^(bitcoincash:)?[qp][{_BECH32}]{{41}}$",
    "dash": rf"^[X7][{_BASE58}]{{33}}$",
    "xmr": rf"^[48][0-9AB][{_BASE58}]{{93}}([{_BASE58}]{{11}})?$",
    "xrp": _XRP,
    "xlm": _XLM_ACCOUNT,
    "ton": _TON,
    "tron": _TRON,
    "sui": r"^0x[0-9a-fA-F]{64}$",
    "ada": rf"^(addr1[{_BECH32}]{{53,98}}|Ae2[{_BASE58}]{{50,60}}|DdzFF[{_BASE58}]{{90,110}})$",
    "algo": r"^[A-Z2-7]{58}$",
}

_NETWORK_PATTERNS = {
    "polkadot": rf"^1[{_BASE58}]{{45,47}}$",
    "kusama": rf"^[C-HJ][{_BASE58}]{{46}}$",
    "cosmos": rf"^cosmos1([{_BECH32}]{{38}}|[{_BECH32}]{{58}})$",
    "osmosis": rf"^osmo1([{_BECH32}]{{38}}|[{_BECH32}]{{58}})$",
    "celestia": rf"^celestia1([{_BECH32}]{{38}}|[{_BECH32}]{{58}})$",
}
"""By chain, where the chains of one kind differ in their addresses."""

CONTRACT_PATTERNS = {
    "evm": _EVM,
    "sol": _SOLANA,
    "xrp": _XRP,
    "xlm": _XLM_ACCOUNT,
    "ton": _TON,
    "tron": _TRON,
    "sui": r"^0x[0-9a-fA-F]{64}(::[A-Za-z0-9_]+::[A-Za-z0-9_]+)?$",
    "algo": r"^[1-9][0-9]{0,19}$",
}
"""By kind; the issuer of a token stands for its contract on the XRP Ledger and on Stellar."""


def address_pattern(kind: str, short_name: str) -> str:
    """The pattern of a chain's addresses. Raises KeyError for a kind that has none."""
    return _NETWORK_PATTERNS.get(short_name) or _ADDRESS_PATTERNS[kind]
