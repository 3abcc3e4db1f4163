"""What a payment link asks for, and an address with its chain named before it.

The reading half of :mod:`swapdesk.chain.addresses.payments`, with the same sources, and of the
forms that name a chain alone: EIP-3770 (``base:0x…``) and CAIP-10 (``eip155:8453:0x…``). Nothing a
link says is dropped: what cannot be kept is named in ``unused``, and a link that asks for what no
payment does (a contract call, a website, a condition that is not known here) is refused. Whether
the address is one, and whether the chain and token are those that were chosen, is judged by who
knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import unquote

from msgspec import Struct

from swapdesk.chain.addresses.kind import AddressProblem, with_article
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.wire.encoding.numbers import AmountError, NumberError, bounded, parse_amount

LONGEST = 2_000
"""Characters of a link. A code of the largest size holds more, and nobody scans one."""

EVM_CHAINS: Mapping[int, tuple[str, ...]] = {
    1: ("Ethereum", "eth"),
    10: ("Optimism", "oeth", "op"),
    56: ("BNB Chain", "bnb", "bsc"),
    100: ("Gnosis", "gno"),
    137: ("Polygon", "pol", "matic"),
    146: ("Sonic", "sonic"),
    324: ("zkSync", "zksync"),
    5000: ("Mantle", "mnt"),
    8453: ("Base", "base"),
    42161: ("Arbitrum", "arb1", "arb"),
    42220: ("Celo", "celo"),
    43114: ("Avalanche", "avax"),
    59144: ("Linea", "linea"),
    81457: ("Blast", "blastmainnet"),
    534352: ("Scroll", "scr"),
}
"""Chain ids with the chain's name and its short names of EIP-3770."""


class LinkedPayment(Struct, frozen=True, kw_only=True):
    """What a link asks for. ``address`` is as written, not checked.

    ``kind`` is the kind of chain that the scheme stands for, empty where only ``chain``, a word,
    names one. ``amount`` is in whole tokens, ``units`` in base units; both None for none.
    ``contract`` None is the coin where an amount is asked for, and else no token at all.
    ``unused`` are the parts of the link that no payment here can keep.
    """

    address: str
    kind: str = ""
    chain: str = ""
    chain_id: int | None = None
    contract: str | None = None
    amount: Decimal | None = None
    units: int | None = None
    memo: str | None = None
    symbol: str = ""
    unused: tuple[str, ...] = ()

    @property
    def asks_amount(self) -> bool:
        return self.amount is not None or self.units is not None

    @property
    def chain_name(self) -> str:
        """The chain in words: ``Base``, ``chain 4217``, ``Bitcoin``; the word itself else."""
        if self.chain_id is not None:
            return EVM_CHAINS.get(self.chain_id, (f"chain {self.chain_id}",))[0]
        known = ADDRESS_KINDS.get(self.kind)
        return known.chain if known is not None else self.chain


class _Scheme(Struct, frozen=True):
    """The parameters of a scheme: ``amount`` in whole tokens, ``units`` in base units."""

    kind: str
    amount: str = "amount"
    units: str = ""
    memo: tuple[str, ...] = ()
    contract: str = ""
    symbol: str = ""
    address: str = ""
    """The parameter with the address, where it does not stand in the path."""


_TAGS = ("dt", "tag", "memo", "destinationtag", "destination_tag")
_COSMOS = _Scheme("cosmos", memo=("memo",))
_SCHEMES: Mapping[str, _Scheme] = {
    "bitcoin": _Scheme("bitcoin"),
    "litecoin": _Scheme("ltc"),
    "dogecoin": _Scheme("doge"),
    "doge": _Scheme("doge"),
    "dash": _Scheme("dash"),
    "bitcoincash": _Scheme("bch"),
    "tron": _Scheme("tron", contract="token"),
    "cardano": _Scheme("ada"),
    "web+cardano": _Scheme("ada"),
    "monero": _Scheme("xmr", amount="tx_amount"),
    "polkadot": _Scheme("dot"),
    "sui": _Scheme("sui"),
    "solana": _Scheme("sol", memo=("memo",), contract="spl-token"),
    "ripple": _Scheme("xrp", memo=_TAGS),
    "xrp": _Scheme("xrp", memo=_TAGS),
    "xrpl": _Scheme("xrp", memo=_TAGS),
    "web+stellar": _Scheme(
        "xlm",
        memo=("memo",),
        contract="asset_issuer",
        symbol="asset_code",
        address="destination",
    ),
    "stellar": _Scheme("xlm", memo=("memo",)),
    "ton": _Scheme("ton", amount="", units="amount", memo=("text",), contract="jetton"),
    "algorand": _Scheme(
        "algo", amount="", units="amount", memo=("xnote", "note"), contract="asset"
    ),
    "cosmos": _COSMOS,
    "osmosis": _COSMOS,
    "celestia": _COSMOS,
}
_PATHS = {"web+stellar": "pay", "ton": "transfer"}
"""What stands before, or in place of, the address of a payment."""
_CAIP = {
    "bip122": "bitcoin",
    "solana": "sol",
    "cosmos": "cosmos",
    "xrpl": "xrp",
    "stellar": "xlm",
    "tron": "tron",
    "polkadot": "dot",
    "algorand": "algo",
    "sui": "sui",
    "cip34": "ada",
    "tvm": "ton",
}
"""Namespaces of CAIP-2 that other kinds of chains have; ``eip155`` is that of EVM chains."""

_SPOKEN = frozenset(
    {
        # For people.
        *("label", "message", "msg", "messages", "recipient_name", "name", "id"),
        *("tx_description", "tx_message", "origin_domain"),
        # For another way of paying the same, and for the wallet that sends.
        *("lightning", "pj", "pjos", "time", "exp", "expiry", "memo_type", "signature"),
        *("network_passphrase", "gas", "gaslimit", "gasprice"),
        *("maxfeepergas", "maxpriorityfeepergas"),
    }
)
_WEB = ("http", "https", "ftp", "file", "mailto", "tel", "data", "javascript", "wc", "about")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}")
_CHAIN_ID = re.compile(r"0[xX][0-9A-Fa-f]{1,12}|[1-9][0-9]{0,14}")
_EIP681_NUMBER = re.compile(r"([0-9]{1,40})(?:\.([0-9]{0,40}))?(?:[eE]\+?([0-9]{1,2}))?")
_CAIP_REFERENCE = re.compile(r"[-_a-zA-Z0-9]{1,32}")


def is_link(text: str) -> bool:
    """Whether a chain or a scheme stands before a colon, as it does in no plain address."""
    scheme, colon, _ = text.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return False
    if scheme.lower() in _own_beginnings():
        return "?" in text or text.partition(":")[2].startswith("//")
    return True


def _own_beginnings() -> frozenset[str]:
    return frozenset(begin for kind in ADDRESS_KINDS.values() for begin in kind.colon_after)


def read_payment_link(text: str) -> LinkedPayment | None:
    """What ``text`` asks for; None where it is no link. Raises AddressProblem, with a sentence,
    for a link that is no payment."""
    if not is_link(text):
        return None
    if len(text) > LONGEST:
        raise _refused(f"A payment link has at most {LONGEST:,} characters.")
    scheme, _, rest = text.partition(":")
    scheme = scheme.lower()
    if scheme in _WEB:
        # The first colon is what makes it one.
        raise AddressProblem("unsafe", "it is a link. Paste the address alone", len(scheme) + 1)
    if scheme in ("lightning", "lnurl"):
        raise _refused(
            "This is an invoice of the Lightning network. Ask for an address on the chain."
        )
    path, _, query = rest.partition("#")[0].partition("?")
    path = path.removeprefix("//").rstrip("/")
    if scheme == "ethereum":
        return _ethereum(path, _parameters(query))
    if scheme == "solana" and path.lower().startswith("http"):
        raise _refused(
            "This link asks a website for a transaction. Ask for an address of Solana instead."
        )
    parts = path.split(":")
    if scheme == "eip155" or (scheme in _CAIP and len(parts) == 2 and not query):
        return _caip(scheme, parts)
    found = _SCHEMES.get(scheme)
    if found is not None:
        return _by_scheme(scheme, found, path, _parameters(query))
    if query or "/" in path or not path:
        raise _refused(f'No payment link known here begins with "{scheme}:". Paste the address.')
    chain_id = next((one for one, names in EVM_CHAINS.items() if scheme in names), None)
    return LinkedPayment(
        address=path, kind="" if chain_id is None else "evm", chain=scheme, chain_id=chain_id
    )


def _caip(scheme: str, parts: list[str]) -> LinkedPayment:
    """CAIP-10: namespace, reference of the chain, address."""
    if len(parts) != 2 or _CAIP_REFERENCE.fullmatch(parts[0]) is None:
        raise _refused("An address in this form has its chain and itself behind the first colon.")
    reference, address = parts
    if scheme != "eip155":
        return LinkedPayment(address=address, kind=_CAIP[scheme])
    return LinkedPayment(address=address, kind="evm", chain_id=_chain_id(reference))


def _chain_id(text: str) -> int:
    if _CHAIN_ID.fullmatch(text) is None:
        raise _refused(f'"{text[:20]}" is no id of a chain.')
    return int(text, 0)


def _parameters(query: str) -> dict[str, str]:
    """By their names in lower case: a code that saves room is written in capitals."""
    found: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        name, value = unquote(name).lower(), unquote(value)
        if not value:
            continue
        if found.setdefault(name, value) != value:
            raise _refused(f'The link says "{name[:20]}" twice, and not the same.')
    return found


def _by_scheme(scheme: str, known: _Scheme, path: str, told: dict[str, str]) -> LinkedPayment:
    said = ADDRESS_KINDS[known.kind]
    wanted = next((name for name in told if name.startswith("req-")), None)
    if wanted is not None:
        raise _refused(f'The link asks for "{wanted[4:24]}", which no payment from here can do.')
    before = _PATHS.get(scheme)
    if before is not None:
        head, _, path = path.partition("/")
        if head.lower() != before:
            raise _refused(f"This link is no payment on {said.chain}.")
    address = told.pop(known.address, "") if known.address else path
    if scheme == "bitcoincash":
        address = address if ":" in address else f"{scheme}:{address}"
    if scheme != "bitcoincash" and ":" in address:
        raise _refused(f"Not {with_article(said.chain)} payment link: it has a second colon.")
    if not address:
        raise _refused("This link has no address. Ask for one.")
    if told.get("memo_type", "").upper() in ("MEMO_HASH", "MEMO_RETURN"):
        raise _refused("The memo of this link is a hash, which no payout can carry.")
    memo = next((told.pop(name) for name in known.memo if name in told), None)
    contract = told.pop(known.contract, None) if known.contract else None
    symbol = told.pop(known.symbol, "") if known.symbol else ""
    if scheme == "algorand" and contract == "0":
        contract = None
    amount = told.pop(known.amount, None) if known.amount else None
    units = told.pop(known.units, None) if known.units else None
    return LinkedPayment(
        address=address,
        kind=known.kind,
        chain=scheme.removeprefix("web+"),
        contract=contract,
        amount=None if amount is None else _amount(amount),
        units=None if units is None else _units(units),
        memo=memo,
        symbol=symbol,
        unused=_unused(told),
    )


def _ethereum(path: str, told: dict[str, str]) -> LinkedPayment:
    """ERC-681: a payment in the coin, or the call of a token that pays somebody."""
    target, _, function = path.partition("/")
    target = target.removeprefix("pay-")
    address, at, chain = target.partition("@")
    chain_id = _chain_id(chain) if at else None
    if function not in ("", "transfer"):
        raise _refused("This link calls a contract. It is no payment.")
    contract, units = None, told.pop("value", None)
    if function:
        if units is not None and _units(units):
            raise _refused("This link calls a contract and pays it. It is no payment of a token.")
        contract, address = address, told.pop("address", "")
        units = told.pop("uint256", None)
    if not address:
        raise _refused("This link has no address. Ask for one.")
    if not address.startswith(("0x", "0X")):
        raise _refused(f'"{address[:40]}" is a name, not an address. Ask for the address.')
    return LinkedPayment(
        address=address,
        kind="evm",
        chain="ethereum",
        chain_id=chain_id,
        contract=contract,
        units=None if units is None else _units(units),
        unused=_unused(told),
    )


def _unused(told: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name[:20] for name in told if name not in _SPOKEN)


def _amount(text: str) -> Decimal | None:
    """None for 0: a wallet writes it where it asks for no amount."""
    try:
        return parse_amount(text) or None
    except AmountError:
        raise _refused(f'The amount of the link cannot be read: "{text[:24]}".') from None


def _units(text: str) -> int | None:
    """A whole number, which ERC-681 lets be written as ``2.014e18``."""
    found = _EIP681_NUMBER.fullmatch(text)
    try:
        whole = bounded(Decimal(text)) if found is not None else None
    except NumberError:
        whole = None
    if whole is None or whole != whole.to_integral_value():
        raise _refused(f'The amount of the link cannot be read: "{text[:24]}".')
    return int(whole) or None


def _refused(sentence: str) -> AddressProblem:
    return AddressProblem("unsafe", sentence, whole=True)
