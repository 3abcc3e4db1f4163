"""Memos, destination tags and payment links: what a payment needs beside its address (contract
5.4).

Without its memo, a payment to an exchange may never be credited, so an empty memo needs a typed
phrase. A link always names the token; if its scheme cannot, there is no link.

Sources: BIP 21, ERC-681, Solana Pay, Monero's ``uri_spec``, the ``xrpl`` links of XRP Ledger
wallets, SEP-7, the ``ton://transfer`` links of the TON documentation, ARC-26. ``tron:`` is read
like BIP 21. EIP-3770 (``base:0x…``) and CAIP-10 (``eip155:8453:0x…``) are only read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import unquote

from msgspec import Struct

from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    PaymentLink,
    PaymentRequest,
    Verdict,
    with_article,
)
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.wire.encoding.numbers import (
    AmountError,
    NumberError,
    bounded,
    parse_amount,
    short,
    to_base_units,
)
from swapdesk.wire.encoding.readers import character_in_words

WAIVER = "NO MEMO"
MAX_LENGTH = 64
"""Largest number of characters of a memo in the API (contract 7.1). Chains may allow fewer."""

_DIGITS = frozenset("0123456789")


def memo_label(kind: str) -> str:
    """Returns the word that a kind of chain has for a memo: ``destination tag``, ``comment`` or
    ``note``. Any other kind has ``memo``."""
    rule = _rule(kind)
    return rule.label if rule else "memo"


def short_memo_label(label: str) -> str:
    """Returns the last word of a label, capitalized: ``Tag`` for ``destination tag``, ``Memo`` for
    ``memo``."""
    return label.split()[-1].capitalize()


def uses_memo(kind: str) -> bool:
    """Returns whether exchanges read memos on this kind of chain. True for an unknown kind, so that
    no memo is lost."""
    return kind not in ADDRESS_KINDS or _rule(kind) is not None


def _rule(kind: str) -> MemoRule | None:
    address_kind = ADDRESS_KINDS.get(kind)
    return address_kind.memo if address_kind is not None else None


def check_memo(
    kind: str,
    text: str,
    needed: bool | None,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
) -> Verdict:
    """Checks a memo. Never raises. ``needed`` is the chain's ``memoNeeded``; None counts as not
    needed. The text ``NO MEMO`` waives a needed memo and is itself never sent."""
    label = memo_label(kind)
    if not text:
        return _without(kind, label, needed, chain_name, symbol)
    if text == WAIVER:
        return Verdict(True, "waived", f"Sent without a {label}.")
    if text.strip().upper() == WAIVER:
        return Verdict(False, "waiver", f'Type "{WAIVER}" in capitals to send without a {label}.')
    if not uses_memo(kind) and not needed:
        chain = chain_name or ADDRESS_KINDS[kind].chain
        return Verdict(False, "unused", f"{chain} has no memos. Leave it empty.")
    rule = _rule(kind) or MemoRule(label)
    if rule.largest is not None:
        return _check_number(text, label, rule.largest)
    return _check_text(text, rule)


def _without(
    kind: str, label: str, needed: bool | None, chain_name: str | None, symbol: str | None
) -> Verdict:
    if not needed:
        return Verdict(True, "none", f"No {label}.")
    address_kind = ADDRESS_KINDS.get(kind)
    subject = symbol or chain_name or (address_kind.chain if address_kind else "This chain")
    reason = f'{subject} needs a {label} for exchanges. Type "{WAIVER}" if this wallet has none.'
    return Verdict(False, "missing", reason)


def _check_number(text: str, label: str, largest: int) -> Verdict:
    for place, character in enumerate(text[: MAX_LENGTH + 1], start=1):
        if character not in _DIGITS:
            reason = f"A {label} is digits only: character {place} is not one."
            return Verdict(False, "character", reason, place)
    if len(text) > MAX_LENGTH or int(text) > largest:
        return Verdict(False, "range", f"A {label} is at most {largest}.")
    return Verdict(True, "valid", f"{label.capitalize()}.", normalized=str(int(text)))


def _check_text(text: str, rule: MemoRule) -> Verdict:
    label = rule.label
    if len(text) > rule.longest:
        reason = f"A {label} has at most {rule.longest} characters. This one has {len(text):,}."
        return Verdict(False, "length", reason)
    for place, character in enumerate(text, start=1):
        at_edge = character == " " and place in (1, len(text))
        if at_edge or not " " <= character <= "~":
            what = "a space at its edge" if at_edge else character_in_words(character)
            reason = f"A {label} is plain text: character {place} is {what}."
            return Verdict(False, "character", reason, place)
    reason = f"{label.capitalize()}."
    if rule.largest_id is not None:
        reason = "Memo id." if _is_id(text, rule.largest_id) else "Memo text."
    return Verdict(True, "valid", reason, normalized=text, doubt=_doubt(text, label))


def _is_id(text: str, largest: int) -> bool:
    return set(text) <= _DIGITS and str(int(text)) == text and int(text) <= largest


_MONTH = "(?:Jan|Feb|Mar|Mrz|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez)[a-z]*"

_MADE_BY_PROGRAMS = tuple(
    (re.compile(form, re.IGNORECASE), what)
    for form, what in (
        # 1077120345 as 1.07712E+09. A few digits around an e alone are an id in hexadecimal.
        (
            r"[+-]?\d+(?:[.,]\d+ ?E ?[+-]?\d+|E[+-]\d{1,3}|E\d{1,2})",
            "a number that was rounded to its first digits",
        ),
        (
            r"nan|nat|none|null|nil|n/?a|n\.a\.|<na>|[(<](?:null|none|empty|blank)[)>]|undefined"
            r"|\[object object\]|true|false|wahr|falsch|vrai|faux|[+-]?inf(?:inity)?|-+",
            "what a program writes for an empty or a computed cell",
        ),
        (
            r"#+|#[A-Z][A-Z0-9/_ ]*[!?]|#N/A(?: N/A)?|#NV|#NA|Err:\d+",
            "an error of a spreadsheet",
        ),
        (
            r"\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[T ].*)?|\d{1,2}([-/.])\d{1,2}\2\d{2,4}(?: .*)?"
            rf"|\d{{1,2}}[-/. ]+{_MONTH}(?:[-/. ]+\d{{2,4}})?|{_MONTH}[-/. ]+\d{{2,4}}"
            r"|\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?",
            "a date or a time of day",
        ),
        (
            r"[+-]?\d+(?:[.,]\d+)+%?|[+-]?\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?"
            r"|[+-]\d+|\(\d+\)|\d+%|[$]\d.*",
            "a number that was written for reading, with a sign, a fraction or separators",
        ),
        (r"['\"`=].*|.*[\"`]", "a cell with the marks of a spreadsheet around it"),
        (r".*&(?:amp|lt|gt|quot|apos|nbsp|#x?[0-9a-f]+);.*|.*%[0-9A-F]{2}.*", "escaped text"),
        (r".*\.\.\.", "a text that was cut short"),
    )
)
"""Patterns of texts that a spreadsheet, data frame or web page can put in place of a memo, each
with a description."""

_EXACT_DIGITS = 15
"""Number of digits that a spreadsheet keeps of a number; the others become zeros."""


def _doubt(text: str, label: str) -> str:
    """Returns a sentence that says why a valid memo may not be the memo given out, for example
    because a spreadsheet changed it. Empty if nothing suggests this."""
    made = next((what for form, what in _MADE_BY_PROGRAMS if form.fullmatch(text)), "")
    if not made and _is_rounded(text):
        made = "a number of which only the first digits are left"
    if not made:
        return ""
    return (
        f"This looks like {made}, not like a {label} that somebody gave out. Compare it with the"
        " one you were given."
    )


def _is_rounded(text: str) -> bool:
    more = len(text) - _EXACT_DIGITS
    if more < 1 or not set(text) <= _DIGITS:
        return False
    zeros = len(text) - len(text.rstrip("0"))
    return zeros >= max(min(more, 2), more - 2)


_NAME = re.compile(r"[0-9A-Za-z:_-]+")
"""The pattern of addresses, contracts and asset numbers, which excludes characters that separate
the parts of a link."""


def payment_link(
    kind: str,
    chain_id: int | None,
    contract: str | None,
    address: str,
    amount: Decimal,
    memo: str | None,
    *,
    decimals: int,
    symbol: str = "",
) -> PaymentLink | None:
    """Returns the link for paying ``amount`` whole tokens to a checked address; None if no link can
    express the payment exactly. ``contract`` is None for the chain's coin. Raises ValueError for an
    amount not above zero."""
    if not amount.is_finite() or amount <= 0:
        raise ValueError("a payment has an amount above zero")
    address_kind = ADDRESS_KINDS.get(kind)
    plain = all(_NAME.fullmatch(text) for text in (address, contract) if text is not None)
    payable = -int(short(amount).as_tuple().exponent) <= decimals
    write = address_kind.link_writer if address_kind is not None else None
    if write is None or not plain or not payable:
        return None
    units = to_base_units(amount, decimals)
    return write(PaymentRequest(address, amount, units, contract, memo or None, symbol, chain_id))


LONGEST = 2_000
"""Largest number of characters of a payment link; nobody scans larger QR codes."""

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
"""By chain id, the name of an EVM chain, followed by its short names in EIP-3770."""


class LinkedPayment(Struct, frozen=True, kw_only=True):
    """The payment that a link asks for; ``address`` is not checked. The amounts are None if the
    link states none. An amount without ``contract`` is in the chain's coin. ``unused`` lists parts
    of the link that this desk cannot use."""

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
        """The chain's name for a message: ``Base``, ``chain 4217``, or the link's own word."""
        if self.chain_id is not None:
            return EVM_CHAINS.get(self.chain_id, (f"chain {self.chain_id}",))[0]
        address_kind = ADDRESS_KINDS.get(self.kind)
        return address_kind.chain if address_kind is not None else self.chain


_FORMS: Mapping[str, tuple[AddressKind, LinkForm]] = {
    scheme: (kind, form) for kind in ADDRESS_KINDS.values() for scheme, form in kind.links.items()
}
"""By URI scheme, the kind of chain and the form of the scheme's payment links."""
_NAMESPACES = {kind.namespace: kind.name for kind in ADDRESS_KINDS.values() if kind.namespace}

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
    """Returns whether the text begins with a URI scheme or chain name and a colon. If addresses can
    have the same beginning (``bitcoincash:``), the text after the colon decides."""
    scheme, colon, _ = text.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return False
    if scheme.lower() in _own_beginnings():
        return "?" in text or text.partition(":")[2].startswith("//")
    return True


def _own_beginnings() -> frozenset[str]:
    return frozenset(begin for kind in ADDRESS_KINDS.values() for begin in kind.colon_after)


def read_payment_link(text: str) -> LinkedPayment | None:
    """Returns the payment that ``text`` asks for; None if the text is no link. Raises
    AddressProblem for a link that asks for anything else."""
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
    if scheme == "eip155" or (scheme in _NAMESPACES and len(parts) == 2 and not query):
        return _caip(scheme, parts)
    if scheme in _FORMS:
        return _by_scheme(scheme, path, _parameters(query))
    if query or "/" in path or not path:
        raise _refused(f'No payment link known here begins with "{scheme}:". Paste the address.')
    chain_id = next((known_id for known_id, names in EVM_CHAINS.items() if scheme in names), None)
    return LinkedPayment(
        address=path, kind="" if chain_id is None else "evm", chain=scheme, chain_id=chain_id
    )


def _caip(scheme: str, parts: list[str]) -> LinkedPayment:
    """Returns the payment to a CAIP-10 account, whose namespace is ``scheme``. Raises
    AddressProblem."""
    if len(parts) != 2 or _CAIP_REFERENCE.fullmatch(parts[0]) is None:
        raise _refused("An address in this form has its chain and itself behind the first colon.")
    reference, address = parts
    if scheme != "eip155":
        return LinkedPayment(address=address, kind=_NAMESPACES[scheme])
    return LinkedPayment(address=address, kind="evm", chain_id=_chain_id(reference))


def _chain_id(text: str) -> int:
    if _CHAIN_ID.fullmatch(text) is None:
        raise _refused(f'"{text[:20]}" is no id of a chain.')
    return int(text, 0)


def _parameters(query: str) -> dict[str, str]:
    """Returns a query's parameters by lower-case name. Raises AddressProblem for a name with two
    different values."""
    parameters: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        name, value = unquote(name).lower(), unquote(value)
        if not value:
            continue
        if parameters.setdefault(name, value) != value:
            raise _refused(f'The link says "{name[:20]}" twice, and not the same.')
    return parameters


def _by_scheme(scheme: str, path: str, parameters: dict[str, str]) -> LinkedPayment:
    kind, form = _FORMS[scheme]
    wanted = next((name for name in parameters if name.startswith("req-")), None)
    if wanted is not None:
        raise _refused(f'The link asks for "{wanted[4:24]}", which no payment from here can do.')
    if form.path:
        head, _, path = path.partition("/")
        if head.lower() != form.path:
            raise _refused(f"This link is no payment on {kind.chain}.")
    address = parameters.pop(form.address, "") if form.address else path
    if scheme == "bitcoincash":
        address = address if ":" in address else f"{scheme}:{address}"
    if scheme != "bitcoincash" and ":" in address:
        raise _refused(f"Not {with_article(kind.chain)} payment link: it has a second colon.")
    if not address:
        raise _refused("This link has no address. Ask for one.")
    if parameters.get("memo_type", "").upper() in ("MEMO_HASH", "MEMO_RETURN"):
        raise _refused("The memo of this link is a hash, which no payout can carry.")
    memo = next((parameters.pop(name) for name in form.memo if name in parameters), None)
    contract = parameters.pop(form.contract, None) if form.contract else None
    symbol = parameters.pop(form.symbol, "") if form.symbol else ""
    if scheme == "algorand" and contract == "0":
        contract = None
    units = parameters.pop(form.units, None) if form.units else None
    amount = parameters.pop(form.amount, None) if not form.units else None
    return LinkedPayment(
        address=address,
        kind=kind.name,
        chain=scheme.removeprefix("web+"),
        contract=contract,
        amount=None if amount is None else _amount(amount),
        units=None if units is None else _units(units),
        memo=memo,
        symbol=symbol,
        unused=_unused(parameters),
    )


def _ethereum(path: str, parameters: dict[str, str]) -> LinkedPayment:
    """Returns the payment of an ERC-681 link, in coins or by a token's ``transfer``. Raises
    AddressProblem for other calls."""
    target, _, function = path.partition("/")
    target = target.removeprefix("pay-")
    address, at, chain = target.partition("@")
    chain_id = _chain_id(chain) if at else None
    if function not in ("", "transfer"):
        raise _refused("This link calls a contract. It is no payment.")
    contract, units = None, parameters.pop("value", None)
    if function:
        if units is not None and _units(units):
            raise _refused("This link calls a contract and pays it. It is no payment of a token.")
        contract, address = address, parameters.pop("address", "")
        units = parameters.pop("uint256", None)
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
        unused=_unused(parameters),
    )


def _unused(parameters: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name[:20] for name in parameters if name not in _SPOKEN)


def _amount(text: str) -> Decimal | None:
    """Returns the amount in whole tokens; None for 0, which some wallets write to leave the amount
    open. Raises AddressProblem."""
    try:
        return parse_amount(text) or None
    except AmountError:
        raise _refused(f'The amount of the link cannot be read: "{text[:24]}".') from None


def _units(text: str) -> int | None:
    """Returns the amount in base units, also from a form like ``2.014e18``; None for 0. Raises
    AddressProblem."""
    match = _EIP681_NUMBER.fullmatch(text)
    try:
        whole = bounded(Decimal(text)) if match is not None else None
    except NumberError:
        whole = None
    if whole is None or whole != whole.to_integral_value():
        raise _refused(f'The amount of the link cannot be read: "{text[:24]}".')
    return int(whole) or None


def _refused(sentence: str) -> AddressProblem:
    return AddressProblem("unsafe", sentence, whole=True)
