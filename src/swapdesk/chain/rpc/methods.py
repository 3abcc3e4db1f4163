"""Methods of the ledger protocol: JSON-RPC 2.0 in HTTP POSTs, one request each.

Amounts are base units as decimal digits in a text; times are RFC 3339 texts; ``chain`` is
a chain's short name and ``token`` a token id. The header ``sandbox-token`` carries the key.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

TOKEN_HEADER = "sandbox-token"


class Method(StrEnum):
    CLOCK_GET = "clock_get"
    """() -> {seed, offset, speed, now}: the world's seed, seconds ahead of the wall, speed."""
    CLOCK_SET = "clock_set"
    """(advance?, speed?) -> as ``clock_get``."""
    CHAIN_HEIGHTS = "chain_heights"
    """() -> {chain: height}."""
    BALANCE = "balance"
    """(token, address) -> units."""
    TRANSFER_GET = "transfer_get"
    """(hash) -> {hash, chain, token, from, to, tag, units, height, confirmations} or null."""
    AUDIT = "ledger_audit"
    """() -> [{token, issued, held}], only tokens whose sums differ: [] is a sound ledger."""
    FAUCET_PAY = "faucet_pay"
    """(key, token, address, tag, units) -> transfer; the same key pays once."""
    VENUE_OPEN = "venue_open"
    """(leg) -> instruction; the same venue and key always give the same one."""
    VENUE_FIND = "venue_find"
    """(venue, key) -> instruction or null."""
    VENUE_REPORT = "venue_report"
    """(venue, key) -> report or null."""
    VENUE_SEND_ON = "venue_send_on"
    """(venue, key, address, tag?) -> transfer: what arrived for a failed leg goes there, once."""
    FAULT_ADD = "fault_add"
    """(fault, serviceId | venue | chain, leg?, times?, depth?) -> null."""
    FAULT_LIST = "fault_list"
    FAULT_CLEAR = "fault_clear"
    EVM_FUND = "evm_fund"
    """(chain, address, units, token?) -> {hash}: coins of an embedded chain, or the token with
    that contract, by a transaction of the faucet; ``POST /evm/{chain}`` tells when it is mined.
    Not to be repeated: it pays again."""
    SOLANA_FUND = "solana_fund"
    """(address, units, mint?) -> {signature}: lamports, or tokens of a catalogue mint, by a
    transaction of the faucet on the embedded chain. Not to be repeated: it pays again."""


class RpcCode(IntEnum):
    """Codes of refusals; nothing happened when one is answered."""

    BAD_JSON = -32700
    BAD_REQUEST = -32600
    NO_METHOD = -32601
    BAD_PARAMS = -32602
    INTERNAL = -32603
    REFUSED = -32000
    """The world says no: unknown token, too little money, another leg under this key."""
    NO_ADDRESS = -32001
    """Every static deposit address of the exchange on this chain waits for an open order."""
    DOWN = -32002
    """The node of a chain the call needs does not answer."""
