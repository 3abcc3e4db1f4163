"""Reads the line of the first screen, at every key and without a call: ``0.5 btc eth``, ``900
usdc.base to sol``, ``0.5 eth @bob``.

``AMOUNT SELL BUY`` is a swap; ``=AMOUNT SELL BUY`` sells what is needed to receive that amount;
``AMOUNT TOKEN @name`` is a private send to a name or an address. A payment link in place of ``BUY``
names token, recipient and amount. An amount is written in digits, as ``1k`` or ``2.5m``, in dollars
(``$500``), or as a share of the wallet's balance (``max``, ``50%``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kind import AddressProblem, with_article
from swapdesk.chain.addresses.payments import LinkedPayment, is_link, read_payment_link
from swapdesk.flows.catalog.catalog import Catalog, native_coin, resolve
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.notation import exact_amount, ungrouped_address, usd
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.flows.payees.recipients import RecipientCheck, linked_amount, payee_check, pays_on
from swapdesk.flows.wallet.own_accounts import OwnBalance
from swapdesk.wire.encoding.numbers import ROUGH, AmountError, parse_amount, quantize, short
from swapdesk.wire.tokens import Token

MAX = "max"
BOUGHT_KEY, SOLD_KEY = "tab", "shift+tab"
"""The keys that select the next token if the word for the token bought, or sold, can mean
several."""


class TokenChoice(Struct, frozen=True):
    """The token chosen for a word of the line. ``rows`` are all tokens that the word can mean, and
    ``at`` is the index of the chosen one."""

    token: Token
    rows: tuple[TokenRow, ...]
    at: int

    @property
    def row(self) -> TokenRow:
        return self.rows[self.at]

    @property
    def tied(self) -> bool:
        """True if only alphabetical order decides which of the first two candidates comes first."""
        return len(self.rows) > 1 and self.rows[0].order[:4] == self.rows[1].order[:4]

    @property
    def chains(self) -> int:
        return len({row.chain for row in self.rows})

    def question(self, key: str = BOUGHT_KEY) -> str:
        """Returns a sentence that says which key chooses among the chains of a symbol and which
        chain is chosen now."""
        row = self.row
        return f"{row.symbol} is on {self.chains} chains: {key} chooses, now {row.chain_name}"

    def brief(self, can: str = "is") -> str:
        """Returns how many tokens or chains the word can mean: ``USDC is on 5 chains``. Empty if
        there is only one. The text has the words ``can`` in place of ``is``."""
        if len(self.rows) < 2:
            return ""
        if self.chains == 1:
            return f"{self.row.symbol} on {self.row.chain_name} is {len(self.rows)} tokens"
        return f"{self.row.symbol} {can} on {self.chains} chains"

    def hint(self, can: str = "is") -> str:
        """Returns :meth:`brief` and the choice: ``USDC is on 5 chains, Base chosen``. Empty if the
        word can mean only one token."""
        brief = self.brief(can)
        chosen = "the first" if self.chains == 1 else self.row.chain_name
        return f"{brief}, {chosen} chosen" if brief else ""


NO_PRIVATE_REVERSE = "A private send states what is sent: leave out the =."
NAME_TOKEN = "Name the token you sell."
TYPE_AMOUNT = "Type the amount before it."
AMOUNT_FIRST = "Write the amount first: 0.5 btc eth."
NAME_BOUGHT = "Name the token you buy, or @name."
ARRIVES_IN_DIGITS = "What is to arrive is written in digits or in dollars: =2 btc eth."
READING = "The wallet is asked what it has."
LONGEST = 1_000

Held = Mapping[str, OwnBalance | str]
"""By token id, the wallet's balance, or the reason why the balance is not known."""
CheckPayee = Callable[[str, Token], RecipientCheck]
"""Checks whether a text is a recipient for a token, by address book and earlier payments."""

_JOINERS = frozenset({"to", "for", "into", "->", "=>", "→", "⇒", ">"})
"""Words that may separate the token sold from the token bought."""
_ARROW = re.compile("(->|=>|→|⇒)")
_SCALES = {"k": 3, "m": 6}
_ESTIMATE_DIGITS = 6
"""Significant digits of an amount that is computed from dollars; a price is no more exact."""
_SERVICE_DIGITS = 15
"""Significant digits of an amount that survive in a service that computes in binary doubles."""


LineState = Literal["empty", "incomplete", "ambiguous", "valid", "refused"]
"""How complete a line is. ``ambiguous`` is complete, but one token was chosen among equals."""


class IntentLine(Struct, frozen=True):
    """What was read from the line so far. ``message`` is the fault or the next step. ``amount`` is
    what is sold, or what is to arrive if ``receive`` is True. ``recipient`` is empty if
    ``recipient_name`` is set."""

    state: LineState
    amount: Decimal | None = None
    token_in: Token | None = None
    token_out: Token | None = None
    recipient_name: str | None = None
    message: str = ""
    place: int | None = None
    hints: tuple[str, ...] = ()
    rows: tuple[TokenRow, ...] = ()
    chosen: int = 0
    choices: int = 1
    private_send: bool = False
    receive: bool = False
    both_hints: tuple[str, str] | None = None
    wants_amount: bool = False
    recipient: str = ""
    share: Decimal | None = None
    dollars: Decimal | None = None
    derived: str = ""

    @property
    def ready(self) -> bool:
        """True if Enter may ask for quotes."""
        return self.state in ("valid", "ambiguous")

    @property
    def pair(self) -> tuple[Token, Token] | None:
        if self.token_in is None or self.token_out is None:
            return None
        return self.token_in, self.token_out

    @property
    def stated(self) -> Token | None:
        return self.token_out if self.receive else self.token_in

    @property
    def payee(self) -> str:
        return f"@{self.recipient_name}" if self.recipient_name else self.recipient

    @property
    def value_usd(self) -> Decimal | None:
        token = self.stated
        if self.amount is None or token is None or token.price is None:
            return None
        return ROUGH.multiply(self.amount, token.price)


class _Word(Struct, frozen=True):
    text: str
    start: int
    last: bool


class _Stop(Exception):
    def __init__(self, line: IntentLine) -> None:
        super().__init__(line.message)
        self.line = line


class _Known(Struct, frozen=True):
    catalog: Catalog
    book: AddressBook
    held: Held
    check: CheckPayee


def parse_intent_line(
    text: str,
    catalog: Catalog,
    book: AddressBook,
    *,
    choose: int = 0,
    sold: int = 0,
    held: Held | None = None,
    check: CheckPayee | None = None,
    private: bool = False,
) -> IntentLine:
    """Returns what the line ``text`` says. Never raises; the result states a fault. ``choose`` and
    ``sold`` count the presses of the keys that select the next token bought and the next token
    sold. ``private`` selects only tokens that can be sent privately to the recipient."""
    if not text.strip():
        return IntentLine("empty")
    if len(text) > LONGEST:
        return IntentLine(
            "refused", message=f"A line has at most {LONGEST:,} characters.", place=LONGEST
        )
    context = _Known(catalog, book, held or {}, check or payee_check(catalog, book))
    try:
        if private:
            line = _read_private(_words(text), context, choose + sold)
        else:
            line = _read(_words(text), context, choose, sold)
    except _Stop as stop:
        line = stop.line
    return replace(line, private_send=True) if private else line


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    at = 0
    for written in text.split():
        parts = [written] if is_link(written) else _ARROW.split(written)
        for part in filter(None, parts):
            at = text.index(part, at)
            ends = at + len(part)
            words.append(_Word(part, at, ends == len(text)))
            at = ends
    sides = 2 if len(words) > 1 and _is_amount(words[0].text) else 1
    if len(words) > sides and words[sides].text.lower() in _JOINERS:
        del words[sides]
    if len(words) > _MOST_WORDS:
        # A recipient as the desk draws it, in groups.
        groups = " ".join(word.text for word in words[_MOST_WORDS - 1 :])
        whole = ungrouped_address(groups)
        if whole != groups:
            first, last = words[_MOST_WORDS - 1], words[-1]
            words[_MOST_WORDS - 1 :] = [_Word(whole, first.start, last.last)]
    return words


_MOST_WORDS = 3


def _is_amount(text: str) -> bool:
    return not text[0].isalpha() or text.lower() == MAX


def _read(words: list[_Word], context: _Known, choose: int, sold: int) -> IntentLine:
    if is_link(words[0].text):
        raise _before_link(words, context)
    if words[0].text.lower() != MAX and _is_token(words[0], context.catalog):
        if len(words) == 2 and is_link(words[1].text):
            return _to_link(IntentLine("incomplete"), words, context, choose, sold)
        return _without_amount(words, context.catalog)
    line = _amount(words[0], alone=len(words) == 1)
    if len(words) == 1:
        return replace(line, message=NAME_TOKEN)
    if is_link(words[1].text):
        raise _before_link(words, context)
    if len(words) > 3:
        raise _refused(line, "Write an amount and two tokens.", words[3].start)
    if len(words) == 3 and is_link(words[2].text):
        return _to_link(line, words, context, choose, sold)
    if len(words) == 3 and words[2].text.startswith("@"):
        if line.receive:
            raise _refused(line, NO_PRIVATE_REVERSE, words[0].start)
        return _private_send(line, words, context, choose + sold)
    return _swap(line, words, context, choose, sold)


def _is_token(word: _Word, catalog: Catalog) -> bool:
    if not word.text[0].isalpha():
        return False
    if word.start or (word.last and catalog.begins_a_symbol(word.text)):
        # A token that was chosen into an empty line leaves a blank for the amount.
        return True
    return bool(resolve(word.text, catalog).candidates)


def _without_amount(words: list[_Word], catalog: Catalog) -> IntentLine:
    line = IntentLine("incomplete", message=TYPE_AMOUNT, wants_amount=True)
    if len(words) == 1:
        return line
    sells = _candidates(line, words[0], catalog)
    if not words[1].text.startswith("@"):
        _candidates(line, words[1], catalog)
    if len(words) > 2:
        raise _refused(line, AMOUNT_FIRST, words[2].start)
    return replace(line, message=f"How much {sells[0].symbol}? {TYPE_AMOUNT}")


def _amount(word: _Word, *, alone: bool) -> IntentLine:
    receive = word.text.startswith("=")
    text = word.text.removeprefix("=")
    start = word.start + int(receive)
    typing: LineState = "incomplete" if alone and word.last else "refused"
    if alone and word.last and text.isalpha() and MAX.startswith(text.lower()) and text != MAX:
        raise _Stop(IntentLine("incomplete", message=TYPE_AMOUNT))
    if receive and not text:
        message = "Type what is to arrive: =2 btc eth."
        raise _Stop(IntentLine(typing, message=message, place=word.start, receive=True))
    if text.lower() == MAX or text.endswith("%"):
        if receive:
            raise _Stop(IntentLine("refused", message=ARRIVES_IN_DIGITS, place=start))
        share = Decimal(1) if text.lower() == MAX else _share(text, start)
        return IntentLine("incomplete", share=share)
    dollars = text.startswith("$") or text.endswith("$")
    start += int(text.startswith("$"))
    digits = text.strip("$") if dollars else text
    if dollars and not digits:
        message = "Type how many dollars: $500 btc eth."
        raise _Stop(IntentLine(typing, message=message, place=word.start, receive=receive))
    try:
        amount = _scaled(digits)
    except AmountError as error:
        place = start + error.position
        # "0." on the way to "0.5" is not a mistake yet.
        unfinished = digits[:-1].isdigit() and digits[-1] == "."
        state: LineState = typing if unfinished else "refused"
        raise _Stop(IntentLine(state, message=error.message, place=place)) from None
    if amount == 0:
        raise _Stop(IntentLine(typing, message="Type an amount above 0.", place=word.start))
    if dollars:
        return IntentLine("incomplete", dollars=amount, receive=receive)
    return IntentLine("incomplete", amount=amount, receive=receive)


def _scaled(text: str) -> Decimal:
    zeros = _SCALES.get(text[-1:].lower(), 0) if text[:-1] else 0
    amount = parse_amount(text[:-1] if zeros else text)
    return short(ROUGH.scaleb(amount, zeros)) if zeros else amount


def _share(text: str, start: int) -> Decimal:
    try:
        percent = parse_amount(text[:-1])
    except AmountError as error:
        message, place = error.message, start + error.position
    else:
        if 0 < percent <= 100:
            return ROUGH.scaleb(percent, -2)
        message, place = "A share of what you have is above 0% and at most 100%.", start
    raise _Stop(IntentLine("refused", message=message, place=place))


def _with_amount(line: IntentLine, token: Token, word: _Word, held: Held) -> IntentLine:
    if line.share is not None:
        return _of_wallet(line, line.share, token, word, held)
    if line.dollars is not None:
        return _of_dollars(line, line.dollars, token, word)
    if line.amount is not None:
        _fitting(line, token, word)
    return line


def _of_wallet(
    line: IntentLine, share: Decimal, token: Token, word: _Word, held: Held
) -> IntentLine:
    balance = held.get(token.id, READING)
    if isinstance(balance, str):
        return replace(line, amount=None, message=balance)
    wanted = (
        balance.spendable
        if share == 1
        else min(ROUGH.multiply(balance.amount, share), balance.spendable)
    )
    amount = _cut(wanted, token, _SERVICE_DIGITS)
    symbol, chain = token.symbol, token.chain_data.name
    if amount <= 0:
        message = f"Your wallet has no {symbol} on {chain} to spend."
        if balance.amount > 0:
            message = (
                f"Your {exact_amount(balance.amount)} {symbol} on {chain} is less than the fee."
            )
        raise _refused(line, message, word.start)
    of = "all" if share == 1 else f"{short(ROUGH.scaleb(share, 2)):f}%"
    kept = short(ROUGH.subtract(balance.amount, balance.spendable))
    less = f", less {exact_amount(kept)} for the fee" if kept and share == 1 else ""
    message = f"{of} of the {exact_amount(balance.amount)} {symbol} you have{less}"
    return replace(line, amount=amount, derived=message)


def _of_dollars(line: IntentLine, dollars: Decimal, token: Token, word: _Word) -> IntentLine:
    if not token.price:
        message = f"The service states no price of {token.symbol}: write the amount in it."
        raise _refused(line, message, word.start)
    amount = _cut(ROUGH.divide(dollars, token.price), token, _ESTIMATE_DIGITS)
    if amount <= 0:
        message = f"{usd(dollars)} is less than the smallest amount of {token.symbol}."
        raise _refused(line, message, word.start)
    message = f"{usd(dollars)} at {usd(token.price)} {with_article(token.symbol)}, an estimate"
    return replace(line, amount=amount, derived=message)


def _cut(amount: Decimal, token: Token, digits: int) -> Decimal:
    places = min(token.decimals, max(0, digits - 1 - amount.adjusted()))
    return short(quantize(amount, places, up=False)) if amount > 0 else Decimal(0)


def _swap(
    line: IntentLine, words: list[_Word], context: _Known, choose: int, first: int
) -> IntentLine:
    sells = _candidates(line, words[1], context.catalog)
    if len(words) == 2:
        sold = _pick(sells, choose + first, context.catalog)
        line = _sold(line, sold, words, context)
        return replace(_walked(line, sold, None, choose), message=line.message or NAME_BOUGHT)
    buys = _candidates(line, words[2], context.catalog)
    return _pair(line, words, (sells, buys), context, choose, first)


def _pair(
    line: IntentLine,
    words: list[_Word],
    tokens: tuple[list[TokenRow], list[TokenRow]],
    context: _Known,
    choose: int,
    first: int,
) -> IntentLine:
    (sells, buys), catalog = tokens, context.catalog
    # The bought token is walked through first; each sold token has its own list of others.
    lists = [(at, [row for row in buys if row.id != sell.id]) for at, sell in enumerate(sells)]
    first %= len(lists)
    lists = lists[first:] + lists[:first]
    total = sum(len(others) for _, others in lists)
    if total == 0:
        raise _refused(
            _sold(line, _pick(sells, 0, catalog), words, context),
            f"Both sides are {sells[0].symbol} on {sells[0].chain_name}. "
            'To send it privately, write "0.5 eth @name".',
            words[2].start,
        )
    step = choose % total
    for at, others in lists:
        if step < len(others):
            sold, bought = _pick(sells, at, catalog), _pick(others, step, catalog)
            break
        step -= len(others)
    line = _sold(line, sold, words, context)
    _allow(line, bought.token, words[2])
    line = replace(line, token_out=bought.token)
    if line.receive:
        line = _with_amount(line, bought.token, words[0], context.held)
    return replace(_walked(line, sold, bought, choose, first), choices=total)


def _private_send(line: IntentLine, words: list[_Word], context: _Known, choose: int) -> IntentLine:
    word, catalog = words[2], context.catalog
    rows = _candidates(line, words[1], catalog)
    if word.text.startswith("@"):
        entry = _entry(line, word, context.book)
        line = replace(line, recipient_name=entry.name, private_send=True)
        reachable = [row for row in rows if entry.fits(row.kind, row.chain)]
        if not reachable:
            sold = _pick(rows, 0, catalog)
            message = _misfit(entry, sold.token)
            raise _refused(_sold(line, sold, words, context), message, word.start)
        private = _privately_sent(line, reachable, words[1])
    else:
        line = replace(
            _asked_by(line, word, rows[0], context), recipient=word.text, private_send=True
        )
        private = _reached(line, _privately_sent(line, rows, words[1]), word, context, choose)
    sold = _pick(private, choose, catalog)
    line = replace(_sold(line, sold, words, context), token_out=sold.token)
    return _walked(line, sold, None, choose)


def _privately_sent(line: IntentLine, rows: list[TokenRow], word: _Word) -> list[TokenRow]:
    private = [row for row in rows if row.has_self_private]
    if not private:
        sentence = f"{rows[0].symbol} on {rows[0].chain_name} cannot be sent privately."
        raise _refused(line, sentence, word.start)
    return private


def _reached(
    line: IntentLine, rows: list[TokenRow], word: _Word, context: _Known, choose: int = 0
) -> list[TokenRow]:
    """Returns the ``rows`` on chains where the recipient's address is valid. Raises _Stop if there
    are none, or if the address imitates a known address."""
    checks = [(row, _checked(line, row, word, context)) for row in rows]
    reached = [row for row, check in checks if check.ok]
    if not reached:
        # A look-alike is an address of its chain: that says more than what another chain needs.
        by_chain = next((check for _, check in checks if check.address), None)
        check = by_chain or checks[choose % len(checks)][1]
        place = word.start + max(0, (check.position or 1) - 1)
        raise _refused(line, check.problem, place)
    return reached


def _checked(line: IntentLine, row: TokenRow, word: _Word, context: _Known) -> RecipientCheck:
    return context.check(word.text, _pick([row], 0, context.catalog).token)


def _before_link(words: list[_Word], context: _Known) -> _Stop:
    at = 0 if is_link(words[0].text) else 1
    line = IntentLine("incomplete")
    if len(words) > at + 1:
        return _refused(line, "A payment link is the end of the line.", words[at + 1].start)
    token = _pick(_linked(line, words[at], context), 0, context.catalog).token
    asked = linked_amount(_link(line, words[at]), token)
    what = token.symbol if asked is None else f"{exact_amount(asked)} {token.symbol}"
    message = f"The link asks for {what} on {token.chain_data.name}. Write what you sell before it."
    return _Stop(replace(line, message=message))


def _to_link(
    line: IntentLine, words: list[_Word], context: _Known, choose: int, first: int
) -> IntentLine:
    *before, word = words
    sells = _candidates(line, before[-1], context.catalog)
    buys = _linked(line, word, context)
    asked = linked_amount(_link(line, word), _pick(buys, 0, context.catalog).token)
    line = replace(line, recipient=word.text)
    if len(before) == 1:
        if asked is None:
            raise _Stop(replace(line, message=f"How much? {TYPE_AMOUNT}", wants_amount=True))
        line = replace(line, amount=asked, receive=True)
        words = [_Word("", word.start, last=False), *words]
    else:
        line = _asked_by(line, word, buys[0], context)
    if sells[0].id in {row.id for row in buys}:
        line = replace(line, receive=False, private_send=True)
        sold = _pick(_privately_sent(line, sells[:1], words[1]), 0, context.catalog)
        line = replace(_sold(line, sold, words, context), token_out=sold.token)
        return _walked(line, sold, None, choose)
    return _pair(line, words, (sells, buys), context, choose, first)


def _asked_by(line: IntentLine, word: _Word, row: TokenRow, context: _Known) -> IntentLine:
    link = _link(line, word) if is_link(word.text) else None
    token = context.catalog.token(row.id)
    asked = linked_amount(link, token) if link is not None and token is not None else None
    if asked is None or line.amount == asked:
        return line
    return replace(line, derived=f"the link asks for {exact_amount(asked)} {row.symbol}")


def _link(line: IntentLine, word: _Word) -> LinkedPayment:
    try:
        link = read_payment_link(word.text)
    except AddressProblem as problem:
        raise _refused(line, problem.sentence("payment"), word.start) from None
    assert link is not None  # the word is a link
    return link


def _linked(line: IntentLine, word: _Word, context: _Known) -> list[TokenRow]:
    link, catalog = _link(line, word), context.catalog
    chains = [chain for chain in catalog.chains() if pays_on(link, chain)]
    if not chains:
        message = f"No chain is called {link.chain_name[:20]} here."
        if link.kind:
            message = f"The service swaps nothing on {link.chain_name}."
        raise _refused(line, message, word.start)
    names = {chain.short_name for chain in chains}
    if link.contract is not None:
        rows = [row for row in catalog.rows_of_contract(link.contract) if row.chain in names]
    else:
        coins = (native_coin(catalog, chain.short_name) for chain in chains)
        coin_rows = (catalog.row(coin.id) for coin in coins if coin is not None)
        rows = [row for row in coin_rows if row is not None]
    usable = [row for row in rows if row.enabled]
    if not usable:
        message = f"No listed token on {chains[0].name} is what the link asks for."
        if rows:
            message = f"{rows[0].symbol} on {rows[0].chain_name} is disabled at the service."
        raise _refused(line, message, word.start)
    if link.kind == "evm" and link.chain_id is None:
        # One that names no chain is for the first of those that its address is one on.
        usable = usable[:1]
    return _reached(line, usable, word, context)


def _candidates(line: IntentLine, word: _Word, catalog: Catalog) -> list[TokenRow]:
    if word.text.startswith("@"):
        raise _refused(line, "Name the token before the recipient.", word.start)
    resolution = resolve(word.text, catalog)
    if resolution.candidates:
        return list(resolution.candidates)
    if word.last and _is_unfinished(word.text, catalog):
        raise _Stop(replace(line, message="", place=None))
    raise _refused(line, resolution.problem, word.start)


def _is_unfinished(text: str, catalog: Catalog) -> bool:
    symbol, dot, chain = text.rpartition(".")
    if dot and catalog.rows_of_symbol(symbol):
        begun = chain.lower()
        return any(
            chain_data.short_name.lower().startswith(begun) for chain_data in catalog.chains()
        )
    return catalog.begins_a_symbol(text) and not catalog.rows_of_symbol(text)


def _pick(rows: list[TokenRow], at: int, catalog: Catalog) -> TokenChoice:
    at %= len(rows)
    token = catalog.token(rows[at].id)
    if token is None:
        raise _Stop(IntentLine("refused", message="The list of tokens changed."))
    return TokenChoice(token, tuple(rows), at)


def _sold(line: IntentLine, sold: TokenChoice, words: list[_Word], context: _Known) -> IntentLine:
    line = replace(line, token_in=sold.token)
    _allow(line, sold.token, words[1])
    return line if line.receive else _with_amount(line, sold.token, words[0], context.held)


def _fitting(line: IntentLine, token: Token, word: _Word) -> None:
    assert line.amount is not None
    text = word.text.removeprefix("=")
    try:
        parse_amount(f"{line.amount:f}", decimals=token.decimals, symbol=token.symbol)
    except AmountError as error:
        begin = word.start + len(word.text) - len(text)
        place = begin + min(error.position, max(0, len(text) - 1))
        raise _refused(line, error.message, place) from None


def _allow(line: IntentLine, token: Token, word: _Word) -> None:
    if refusal := token_refusal(token):
        raise _refused(line, refusal, word.start)


def _walked(
    line: IntentLine, sold: TokenChoice, bought: TokenChoice | None, choose: int, first: int = 0
) -> IntentLine:
    picks = [pick for pick in (sold, bought) if pick is not None]
    walk = next((pick for pick in reversed(picks) if len(pick.rows) > 1), None)
    tied = [pick for pick in picks if pick.tied and choose == 0 and (first == 0 or pick is bought)]
    both = None
    if bought is not None and sold.brief() and bought.brief():
        both = (sold.brief(), bought.brief())
    hints = (pick.hint("can be sent" if line.private_send else "is") for pick in picks)
    line = replace(
        line,
        hints=tuple(filter(None, hints)),
        rows=walk.rows if walk is not None else (),
        chosen=walk.at if walk is not None else 0,
        choices=len(walk.rows) if walk is not None else 1,
        both_hints=both,
    )
    if line.token_out is None or line.amount is None:
        return line
    if tied:
        asked = tied[-1]
        key = SOLD_KEY if both is not None and asked is sold else BOUGHT_KEY
        return replace(line, state="ambiguous", message=asked.question(key))
    return replace(line, state="valid")


def _entry(line: IntentLine, word: _Word, book: AddressBook) -> BookEntry:
    entry = book.entry(word.text)
    if entry is not None:
        return entry
    begun = word.text[1:].lower()
    if word.last and any(name.startswith(begun) for name in book.names()):
        raise _Stop(replace(line, private_send=True))
    raise _refused(line, book.missing(word.text), word.start)


def _misfit(entry: BookEntry, token: Token) -> str:
    chain = token.chain_data
    if entry.kind == chain.kind:
        return f"{entry.label} is an address on {entry.chain}, not on {chain.name}."
    verdict = check_address(chain.kind, entry.address, chain_name=chain.name, symbol=token.symbol)
    return f"{entry.label}: {verdict.reason}"


def _refused(line: IntentLine, message: str, place: int) -> _Stop:
    return _Stop(replace(line, state="refused", message=message, place=place))


def _read_private(words: list[_Word], context: _Known, choose: int) -> IntentLine:
    linked = next((at for at, word in enumerate(words) if is_link(word.text)), None)
    if linked is not None and len(words) <= 2:
        return _private_link(words, linked, context, choose)
    if len(words) > 3:
        message = "Write an amount, a token and whom to pay."
        raise _refused(IntentLine("refused"), message, 0)
    if words[0].text.lower() != MAX and _is_token(words[0], context.catalog):
        return _without_amount(words, context.catalog)
    line = _amount(words[0], alone=len(words) == 1)
    if len(words) == 1:
        return replace(line, message="Name the token you send.")
    if line.receive:
        raise _refused(line, NO_PRIVATE_REVERSE, words[0].start)
    if len(words) == 3:
        return _private_send(line, words, context, choose)
    private = _privately_sent(line, _candidates(line, words[1], context.catalog), words[1])
    sold = _pick(private, choose, context.catalog)
    line = replace(line, private_send=True)
    line = replace(_sold(line, sold, words, context), token_out=sold.token)
    return _walked(line, sold, None, choose)


def _private_link(words: list[_Word], at: int, context: _Known, choose: int) -> IntentLine:
    line, word = IntentLine("incomplete"), words[at]
    if len(words) > at + 1:
        raise _refused(line, "A payment link is the end of the line.", words[at + 1].start)
    if at:
        line = _amount(words[0], alone=False)
    row = _linked(line, word, context)[0]
    spelled = _Word(row.id, word.start, last=False)
    return _to_link(line, [*words[:at], spelled, word], context, choose, 0)
