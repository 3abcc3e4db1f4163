"""Checks who gets the money: recipient, refund address and memo, without a network call (contract
5.4).

The desk's own decoder decides whether an address is valid; the service's pattern can only refuse
more. An address that looks like a known payee is refused, because attackers send payments from such
addresses (address poisoning).

Before the first payment to an address, the desk hides a group in its middle and the user types the
group. Malware that replaces pasted addresses would show its own address, so the user must read the
group at the source. The middle is asked for because look-alike addresses agree at both ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_recipient as check_by_pattern
from swapdesk.chain.addresses.checking import same_address
from swapdesk.chain.addresses.display import (
    SIZE,
    differing_characters,
    groups,
    looks_like,
    prefix_of,
)
from swapdesk.chain.addresses.kind import AddressProblem, Verdict
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.chain.addresses.payments import (
    EVM_CHAINS,
    WAIVER,
    LinkedPayment,
    memo_label,
    read_payment_link,
    uses_memo,
)
from swapdesk.chain.addresses.payments import check_memo as memo_verdict
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.check_line import CheckLevel, CheckLine, refusal
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import exact_amount, short_address, ungrouped_address
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.tokens import Token


class RecipientCheck(Struct, frozen=True):
    """The result of checking one address."""

    text: str
    """The address as typed."""
    address: str
    """The spelling to send; empty unless the address is valid."""
    label: str | None
    """Its name in the address book, such as ``@bob``."""
    ok: bool
    lines: tuple[CheckLine, ...]
    first_use: bool = False
    lookalike: tuple[str, str] | None = None
    """The imitated known payee: name (or short address) and address."""
    memo_label: str = "memo"
    account: str = ""
    """Equal for all spellings of the same address."""
    memo: str | None = None
    """The memo that the payment link or the address book states."""
    position: int | None = None
    """The place of the wrong character in ``text``, counted from 1."""
    doubt: str = ""
    """How a payment may be lost; the user must agree."""
    memo_doubt: str = ""
    """How a refund may be lost; the user must agree."""
    link: LinkedPayment | None = None

    @property
    def problem(self) -> str:
        return refusal(self.lines)

    @property
    def memo_source(self) -> str:
        """Where ``memo`` comes from, in a few words; empty without a memo."""
        if self.link is not None and self.link.memo:
            return THE_LINK
        return self.label or "" if self.memo else ""


THE_LINK = "the payment link"
_FAULTS = {"missing": "missing", "length": "too long", "range": "too large"}


class MemoCheck(Struct, frozen=True):
    """The result of checking a memo."""

    memo: str | None
    """The memo to send."""
    waived: bool
    ok: bool
    label: str
    used: bool
    """False if no memo can be sent on this chain."""
    lines: tuple[CheckLine, ...] = field(default=())
    doubt: str = ""
    """A warning that the user must agree to, such as a changed memo."""
    fault: str = ""
    """What is wrong in a few words; empty if nothing."""

    @property
    def problem(self) -> str:
        return refusal(self.lines)


NO_MEMO = "A swap on chains carries no memo."
TO_YOURSELF = "Have it sent to your own wallet, and send it on from there."


def check_memo(
    text: str | None, waived: bool, token: Token, *, on_chain: bool = False
) -> MemoCheck:
    """Checks the memo of a payout of ``token``. If ``waived`` is True, or ``text`` is ``NO MEMO``,
    no memo is sent. On-chain swaps never carry a memo."""
    chain = token.chain_data
    label = memo_label(chain.kind)
    typed = text or ""
    if on_chain and uses_memo(chain.kind):
        wanted = bool(typed or chain.memo_needed)
        return _no_memo(label, wanted, NO_MEMO, f"{NO_MEMO} {TO_YOURSELF}")
    if not (uses_memo(chain.kind) or chain.memo_needed):
        refusal = f"{chain.name} has no memos. Leave it empty."
        return _no_memo(label, bool(typed), f"Not used on {chain.name}.", refusal)
    verdict = memo_verdict(
        chain.kind,
        typed or (WAIVER if waived and chain.memo_needed else ""),
        chain.memo_needed,
        chain_name=chain.name,
        symbol=token.symbol,
    )
    warned = verdict.doubt or verdict.code == "waived"
    level: CheckLevel = "refuse" if not verdict.ok else "warn" if warned else "ok"
    return MemoCheck(
        memo=verdict.normalized or None,
        waived=verdict.code == "waived",
        ok=verdict.ok,
        label=label,
        used=True,
        lines=(CheckLine(level, verdict.doubt or verdict.reason),),
        doubt=verdict.doubt,
        fault="" if verdict.ok else _FAULTS.get(verdict.code, "not valid yet"),
    )


def _no_memo(label: str, wanted: bool, unused: str, refusal: str) -> MemoCheck:
    if wanted:
        line = CheckLine("refuse", refusal)
        return MemoCheck(None, False, False, label, False, (line,), fault="not used")
    return MemoCheck(None, False, True, label, False, (CheckLine("ok", unused),))


def check_memo_of(
    recipient: RecipientCheck,
    text: str | None,
    waived: bool,
    token: Token,
    *,
    on_chain: bool = False,
) -> MemoCheck:
    """Checks the memo like :func:`check_memo`. The user must agree if it differs from the
    recipient's known memo, because an exchange would credit somebody else."""
    if on_chain:
        return check_memo(text or recipient.memo, False, token, on_chain=True)
    check = check_memo(text, waived, token)
    if not (check.ok and check.used and recipient.ok):
        return check
    warning = another_memo(recipient.memo_source, recipient.memo, check.memo, token)
    if not warning:
        return check
    lines = (*check.lines, CheckLine("warn", warning))
    return replace(check, lines=lines, doubt=f"{check.doubt} {warning}".strip())


def another_memo(name: str, kept: str | None, memo: str | None, token: Token) -> str:
    """Returns the warning that ``memo`` differs from ``kept``, the known memo of ``name``; empty if
    they are the same or no memo is known."""
    if not name or not kept or check_memo(kept, False, token).memo == memo:
        return ""
    word = memo_label(token.chain_data.kind).removeprefix("destination ")
    return f"This is not the {word} of {name}: {kept}."


def _account_notes(token: Token, arrives: Decimal | None) -> tuple[CheckLine, ...]:
    kind = ADDRESS_KINDS.get(token.chain_data.kind)
    if kind is None:
        return ()
    if token.address is not None:
        return (CheckLine("note", kind.takes_token),) if kind.takes_token else ()
    least = kind.opens_with
    if not least or (arrives is not None and arrives >= least):
        return ()
    sentence = (
        f"An account exists once {exact_amount(least)} {token.symbol} was paid to it: less does"
    )
    return (
        CheckLine("warn" if arrives is not None else "note", f"{sentence} not reach a new one."),
    )


NEVER_PAID = "Never paid before."
OWN_DEPOSIT = "This is the deposit address of one of your orders, not a wallet."
NEVER_DEPOSIT = (
    "Never give an exchange deposit address as refund address: "
    "it may have changed by the time a refund is sent."
)


def check_recipient(
    text: str,
    token: Token,
    *,
    book: AddressBook,
    paid: Mapping[str, int],
    own_deposits: Collection[tuple[str, str]] = (),
    contracts: Collection[str] = (),
    arrives: Decimal | None = None,
) -> RecipientCheck:
    """Checks whether a payout of ``token`` can go to ``text``: an address, a payment link or
    ``@name``. ``paid`` counts earlier payments by address. Addresses in ``own_deposits`` are
    refused. ``arrives`` is the amount paid out, or None if unknown."""
    chain = token.chain_data
    label = memo_label(chain.kind)
    if unswappable := token_refusal(token):
        return _unusable(text, token, unswappable)
    read = _read(text, token, book, contracts)
    if isinstance(read, RecipientCheck):
        return read
    verdict, entry, link, lines = read
    address, doubts = verdict.normalized, [verdict.doubt] if verdict.doubt else []
    if link is not None:
        lines += _link_lines(link, token, entry, arrives)
    if entry is not None and entry.own:
        lines.append(CheckLine("note", "Your own wallet."))
    if any(on == chain.kind and same_address(on, address, deposit) for on, deposit in own_deposits):
        lines.append(CheckLine("refuse", OWN_DEPOSIT))
    times = _times_paid(chain.kind, address, paid)
    lookalike = _lookalike(address, book, paid) if entry is None and times == 0 else None
    if lookalike is not None:
        name, imitated = lookalike
        count = differing_characters(address, imitated)
        characters = "1 character differs" if count == 1 else f"{count} characters differ"
        sentence = f"This address looks like {name} and is not. {characters}."
        lines.append(CheckLine("refuse", sentence))
    elif times:
        lines.append(CheckLine("note", f"Paid {_times(times)}."))
    else:
        notes = _account_notes(token, arrives)
        lines += notes
        doubts += [line.text for line in notes if line.level == "warn"]
        lines.append(CheckLine("warn" if entry is None else "note", NEVER_PAID))
    return RecipientCheck(
        text=text,
        address=address,
        label=entry.label if entry else None,
        ok=not refusal(lines),
        lines=tuple(lines),
        first_use=times == 0,
        lookalike=lookalike,
        memo_label=label,
        account=verdict.account,
        memo=(link.memo if link else None) or (entry.memo if entry else None),
        doubt=" ".join(doubts),
        link=link,
    )


def check_refund(
    text: str,
    token: Token,
    *,
    required: bool,
    book: AddressBook,
    paid: Mapping[str, int],
    own_deposits: Collection[tuple[str, str]] = (),
    contracts: Collection[str] = (),
    memo: str | None = None,
) -> RecipientCheck:
    """Checks whether a deposit of ``token`` can be refunded to ``text``, which may be empty unless
    ``required``. If ``memo`` is None, the memo known for the address is used. A refund without its
    memo is lost."""
    if not text.strip():
        on = token.chain_data.name
        if required:
            lines = (CheckLine("refuse", f"This route needs a refund address on {on}."),)
            return RecipientCheck(text, "", None, False, lines)
        return RecipientCheck(text, "", None, True, (CheckLine("note", "No refund address."),))
    check = check_recipient(
        text, token, book=book, paid=paid, own_deposits=own_deposits, contracts=contracts
    )
    if not check.address:
        return check
    usual = {NEVER_PAID, *(line.text for line in _account_notes(token, None))}
    kept = tuple(line for line in check.lines if line.text not in usual)
    typed = check.memo if memo is None else memo
    memo_check = check_memo(typed, False, token) if typed else None
    ok = check.ok and (memo_check is None or memo_check.ok)
    memo = memo_check.memo if memo_check is not None else None
    differs = another_memo(check.memo_source, check.memo, memo, token) if ok else ""
    warned = (CheckLine("warn", differs),) if differs else ()
    doubts = (memo_check.doubt if memo_check is not None else "", differs)
    return replace(
        check,
        ok=ok,
        memo=memo,
        lines=(
            *kept,
            *(memo_check.lines if memo_check else ()),
            *warned,
            CheckLine("note", NEVER_DEPOSIT),
        ),
        memo_doubt=" ".join(filter(None, doubts)),
    )


def _unusable(text: str, token: Token, reason: str, position: int | None = None) -> RecipientCheck:
    return RecipientCheck(
        text,
        "",
        None,
        False,
        (CheckLine("refuse", reason),),
        memo_label=memo_label(token.chain_data.kind),
        position=position,
    )


def _read(
    given: str, token: Token, book: AddressBook, contracts: Collection[str]
) -> tuple[Verdict, BookEntry | None, LinkedPayment | None, list[CheckLine]] | RecipientCheck:
    chain = token.chain_data
    entry: BookEntry | None = None
    link: LinkedPayment | None = None
    typed = text = ungrouped_address(given)
    if text.startswith("@"):
        entry = book.entry(text)
        if entry is None:
            return _unusable(given, token, book.missing(text))
        if entry.chain is not None and not entry.fits(entry.kind, chain.short_name):
            sentence = f"{entry.label} is an address on {entry.chain}, not on {chain.name}."
            return _unusable(given, token, sentence)
        typed = entry.address
    else:
        try:
            link = read_payment_link(text)
        except AddressProblem as problem:
            return _unusable(given, token, problem.sentence(chain.name), problem.position)
        if link is not None:
            if misfit := link_misfit(link, token):
                return _unusable(given, token, misfit)
            typed = link.address
    verdict = check_by_pattern(
        chain.kind,
        typed,
        chain.address_validation,
        chain_name=chain.name,
        symbol=token.symbol,
        contracts=contracts,
    )
    if not verdict.ok:
        if entry is not None:
            return _unusable(given, token, f"{entry.label}: {verdict.reason}")
        before = max(0, text.find(typed))
        at = None if verdict.position is None else before + verdict.position
        return _unusable(given, token, verdict.reason, at)
    if entry is None:
        name = book.name_of(chain.kind, verdict.normalized)
        entry = book.entry(name) if name else None
    lines = [CheckLine("ok", verdict.reason)]
    lines += [
        CheckLine("warn", warning) for warning in (verdict.doubt, *verdict.warnings) if warning
    ]
    return verdict, entry, link, lines


def link_misfit(link: LinkedPayment, token: Token) -> str:
    """Returns how a payout of ``token`` differs from what the payment link asks for; empty if it
    does not."""
    chain = token.chain_data
    if not pays_on(link, chain):
        if not link.kind:
            return (
                f'"{link.chain[:20]}:" in front of the address is not {chain.name}, which this'
                f" {token.symbol} is on. Paste the address alone if it is one on {chain.name}."
            )
        named = link.chain_name
        return (
            f"This is for {named}, and this {token.symbol} is on {chain.name}."
            f" Choose a token on {named}, or ask for an address on {chain.name}."
        )
    alone = f"To pay {token.symbol} there, paste the address alone."
    if link.contract is not None and not _is_contract(link, token):
        called = link.symbol[:12] or f"the token {short_address(link.contract[:80])}"
        return f"The link asks for {called}, not for {token.symbol}. {alone}"
    if link.contract is None and link.asks_amount and token.address is not None:
        return f"The link asks for the coin of {chain.name}, not for {token.symbol}. {alone}"
    return ""


def pays_on(link: LinkedPayment, chain: Chain) -> bool:
    """Returns True if the link names ``chain``, or only its kind."""
    if link.kind and link.kind != chain.kind:
        return False
    if link.chain_id is not None:
        names_of_id = EVM_CHAINS.get(link.chain_id, ())
        named = chain.chain_id not in EVM_CHAINS and _is_called(chain, *names_of_id)
        return chain.chain_id == link.chain_id or named
    return bool(link.kind) or _is_called(chain, link.chain)


def _is_called(chain: Chain, *names: str) -> bool:
    own = (chain.short_name, chain.short_name_v1 or "", chain.name, chain.name.replace(" ", ""))
    folded = {name.casefold() for name in own if name}
    return any(name.casefold() in folded for name in names)


def _is_contract(link: LinkedPayment, token: Token) -> bool:
    address_kind = ADDRESS_KINDS.get(token.chain_data.kind)
    if token.address is None or link.contract is None or address_kind is None:
        return False
    same = address_kind.contract_account(link.contract) == address_kind.contract_account(
        token.address
    )
    return same and link.symbol.casefold() in ("", token.symbol.casefold())


def linked_amount(link: LinkedPayment, token: Token) -> Decimal | None:
    """Returns the amount that a payment link asks for, in whole tokens; None if it states no
    amount."""
    if link.units is not None:
        return short(from_base_units(link.units, token.decimals))
    return link.amount


def _link_lines(
    link: LinkedPayment, token: Token, entry: BookEntry | None, arrives: Decimal | None
) -> Iterator[CheckLine]:
    chain, asked = token.chain_data, linked_amount(link, token)
    if link.kind == chain.kind == "evm" and link.chain_id is None:
        yield CheckLine("note", f"The link names no chain: this pays on {chain.name}.")
    if asked is not None:
        amount = f"{exact_amount(asked)} {token.symbol}"
        if arrives is None:
            yield CheckLine("note", f"The link asks for {amount}.")
        elif arrives == asked:
            yield CheckLine("ok", f"As much as the link asks for: {amount}.")
        else:
            paid = f"{exact_amount(arrives)} {token.symbol}"
            yield CheckLine("warn", f"The link asks for {amount}, and {paid} arrives.")
    if link.memo and entry is not None and entry.memo:
        sentence = another_memo(entry.label, entry.memo, link.memo, token)
        if sentence:
            yield CheckLine("warn", f"{sentence} The link says {link.memo[:40]}.")
    if link.unused:
        sentence = ", ".join(link.unused[:4])
        yield CheckLine("warn", f"The link also says {sentence}, which no payout carries.")


def _times_paid(kind: str, address: str, paid: Mapping[str, int]) -> int:
    times = paid.get(address, 0)
    if times or not address.startswith("0x"):
        return times
    return next((n for payee, n in paid.items() if payee.lower() == address.lower()), 0)


def _lookalike(address: str, book: AddressBook, paid: Mapping[str, int]) -> tuple[str, str] | None:
    """Returns the known payee that ``address`` imitates, as (name or short address, address); None
    if there is none."""
    payees = [(entry.label, entry.address) for entry in book.entries()]
    payees += [(short_address(payee), payee) for payee in paid]
    return next((known for known in payees if looks_like(address, known[1])), None)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


_FOLDED = ("0x", "bc1", "ltc1")
"""Prefixes of addresses in which upper and lower case mean the same."""


class Challenge(Struct, frozen=True):
    """A question about a hidden group of characters of an address."""

    group: int
    """The number of the hidden group, from 1, without a leading ``0x``."""
    of: int
    hidden: frozenset[int]
    """The positions of the hidden characters in the address."""
    answer: str
    folds: bool
    """True if upper and lower case are the same."""
    prefixed: bool

    @property
    def question(self) -> tuple[str, ...]:
        without = ", not counting 0x" if self.prefixed else ""
        return (
            "This address was never paid before.",
            f"The desk hides group {self.group} of {self.of}{without}: type its four characters"
            " as your source has them.",
        )

    def passed(self, typed: str) -> bool:
        group = typed.strip()
        return group.lower() == self.answer.lower() if self.folds else group == self.answer


def challenge_for(check: RecipientCheck, seed: str) -> Challenge | None:
    """Returns the question to ask before the first payment to an address; None if the address is
    known or too short. ``seed`` is the intent's id; it makes the choice of the hidden characters
    unforeseeable."""
    if not check.ok or not check.address or not check.first_use or check.label is not None:
        return None
    prefix = prefix_of(check.address)
    body = groups(check.address)[1 if prefix else 0 :]
    # Neither end, and no last group that is only a part of one.
    middle = [at for at in range(1, len(body) - 1) if len(body[at]) == SIZE]
    if len(body[-1]) < SIZE and len(middle) > 1:
        middle.pop()
    if not middle:
        return None
    at = middle[int(seed[:8], 16) % len(middle)]
    begin = len(prefix) + at * SIZE
    return Challenge(
        group=at + 1,
        of=len(body),
        hidden=frozenset(range(begin, begin + SIZE)),
        answer=body[at],
        folds=check.address.lower().startswith(_FOLDED),
        prefixed=bool(prefix),
    )


def without(address: str, hidden: frozenset[int]) -> str:
    """Returns the address with ``•`` in place of each character at the positions ``hidden``."""
    return "".join("•" if at in hidden else char for at, char in enumerate(address))


def paid_addresses(journal: Journal) -> Mapping[str, int]:
    """Returns how many completed orders paid each recipient. Orders that were not confirmed at this
    desk do not count."""
    return {payment.address: payment.times for payment in journal.orders.paid_recipients()}


def last_paid(journal: Journal) -> Mapping[str, datetime]:
    """Returns the time of the last payment to each recipient in :func:`paid_addresses`. Recipients
    without a known time are left out."""
    payments = journal.orders.paid_recipients()
    return {payment.address: payment.last for payment in payments if payment.last is not None}


def own_deposits(journal: Journal) -> frozenset[tuple[str, str]]:
    """Returns this desk's verified deposit addresses, as (kind of chain, address). None of them may
    be a recipient or refund address."""
    return journal.orders.released_deposits()


def payee_check(
    catalog: Catalog, book: AddressBook, journal: Journal | None = None
) -> Callable[[str, Token], RecipientCheck]:
    """Returns a function that checks a recipient with what this desk knows at the time of the call.
    If ``journal`` is None or cannot be read, only the address book is used."""

    def check(text: str, token: Token) -> RecipientCheck:
        paid: Mapping[str, int] = {}
        deposits: frozenset[tuple[str, str]] = frozenset()
        with contextlib.suppress(JournalUnavailable):
            if journal is not None:
                paid, deposits = paid_addresses(journal), own_deposits(journal)
        return check_recipient(
            text,
            token,
            book=book,
            paid=paid,
            own_deposits=deposits,
            contracts=token_contracts(catalog, token),
        )

    return check


def token_contracts(catalog: Catalog, token: Token) -> frozenset[str]:
    """Returns the token contracts on the chain of ``token``. Money sent to such a contract is
    lost."""
    return catalog.rows.contracts_on(token.chain_data.short_name)
