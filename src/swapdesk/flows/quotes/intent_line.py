"""The line of the first screen: ``0.5 btc eth``, ``900 usdc.base sol``, ``0.5 eth @bob``.

``AMOUNT SELL BUY`` is a swap, ``=AMOUNT SELL BUY`` sells whatever is needed to receive that
much, ``AMOUNT TOKEN @name`` is a private send, with a name or an address. Read at every key,
without a call; what it resolved to is shown in words before anything is asked.

One token of a line, chosen among all that its words could mean.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_address, check_recipient
from swapdesk.chain.addresses.kind import AddressVerdict
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.wire.encoding.numbers import ROUGH, AmountError, parse_amount
from swapdesk.wire.tokens import Token

BOUGHT_KEY, SOLD_KEY = "tab", "shift+tab"
"""The keys that walk through what the token bought, or the one sold, could be."""


class TokenChoice(Struct, frozen=True):
    """One token of the line with all it could have been."""

    token: Token
    rows: tuple[TokenRow, ...]
    at: int

    @property
    def row(self) -> TokenRow:
        return self.rows[self.at]

    @property
    def tied(self) -> bool:
        """Whether nothing but the order of names put the first candidate first."""
        return len(self.rows) > 1 and self.rows[0].order[:4] == self.rows[1].order[:4]

    @property
    def chains(self) -> int:
        """On how many chains it could be."""
        return len({row.chain for row in self.rows})

    def question(self, key: str = BOUGHT_KEY) -> str:
        """Of a choice that is tied: what ``key`` chooses among."""
        row = self.row
        return f"{row.symbol} is on {self.chains} chains: {key} chooses, now {row.chain_name}"

    @property
    def brief(self) -> str:
        """How much else it could be, in a few words; empty where there is no choice."""
        if len(self.rows) < 2:
            return ""
        if self.chains == 1:
            return f"{self.row.symbol} on {self.row.chain_name} is {len(self.rows)} tokens"
        return f"{self.row.symbol} is on {self.chains} chains"

    def hint(self, *, private: bool = False) -> str | None:
        """What else it could be; None where there is no choice."""
        if len(self.rows) < 2:
            return None
        symbol, chain, chains = self.row.symbol, self.row.chain_name, self.chains
        if chains == 1:
            return f"{symbol} on {chain} is {len(self.rows)} tokens, the first chosen"
        can = "can be sent" if private else "is"
        return f"{symbol} {can} on {chains} chains, {chain} chosen"


NO_PRIVATE_REVERSE = "A private send states what is sent: leave out the =."
NAME_TOKEN = "Name the token you sell."
TYPE_AMOUNT = "Type the amount before it."
AMOUNT_FIRST = "Write the amount first: 0.5 btc eth."
LONGEST = 200


class LineState(StrEnum):
    """``AMBIGUOUS`` is complete too, with a token chosen among equals: keys walk the others."""

    EMPTY = "empty"
    INCOMPLETE = "incomplete"
    AMBIGUOUS = "ambiguous"
    VALID = "valid"
    REFUSED = "refused"


class IntentLine(Struct, frozen=True):
    """What the line says so far.

    ``message`` is what is wrong or what comes next, ``place`` the 0-based character at fault.
    ``receive``: ``amount`` is what is to arrive, in the token bought.
    ``hints`` are facts for the line below, ``rows`` the tokens Tab walks through, ``chosen``
    the place of the chosen one, ``choices`` how many values of ``choose`` there are.
    ``both_hints`` of the token sold and the one bought, where each could be another one; ``sells``
    is how many values of ``sold`` there are beside a token bought.
    ``wants_amount``: only the amount is missing before what is written. ``recipient`` is the
    address of a private send that is no name.
    """

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
    sells: int = 1
    wants_amount: bool = False
    recipient: str = ""

    @property
    def ready(self) -> bool:
        """Whether Enter may ask for quotes."""
        return self.state in (LineState.VALID, LineState.AMBIGUOUS)

    @property
    def value_usd(self) -> Decimal | None:
        """Worth of the amount that is written in USD, or None without a price."""
        token = self.token_out if self.receive else self.token_in
        if self.amount is None or token is None or token.price is None:
            return None
        return ROUGH.multiply(self.amount, token.price)


class _Word(Struct, frozen=True):
    text: str
    start: int
    last: bool


class _Stop(Exception):
    """The reading ends here with this line."""

    def __init__(self, line: IntentLine) -> None:
        super().__init__(line.message)
        self.line = line


def parse_intent_line(
    text: str, catalog: Catalog, book: AddressBook, *, choose: int = 0, sold: int = 0
) -> IntentLine:
    """Read the line; never raises on any text.

    ``choose`` counts presses of one key: the token bought is walked through first, then the
    token sold, and it goes round after ``choices``. ``sold`` counts those of the key that walks
    the token sold alone; it goes round after ``sells``.
    """
    if not text.strip():
        return IntentLine(LineState.EMPTY)
    if len(text) > LONGEST:
        return IntentLine(
            LineState.REFUSED, message=f"A line has at most {LONGEST} characters.", place=LONGEST
        )
    try:
        return _read(_words(text), catalog, book, choose, sold)
    except _Stop as stop:
        return stop.line


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    at = 0
    for part in text.split():
        at = text.index(part, at)
        ends = at + len(part)
        words.append(_Word(part, at, ends == len(text)))
        at = ends
    return words


def _read(
    words: list[_Word], catalog: Catalog, book: AddressBook, choose: int, sold: int
) -> IntentLine:
    if _is_token(words[0], catalog):
        return _without_amount(words, catalog)
    line = _amount(words[0], alone=len(words) == 1)
    if len(words) == 1:
        return replace(line, message=NAME_TOKEN)
    if len(words) > 3:
        raise _refused(line, "Write an amount and two tokens.", words[3].start)
    if len(words) == 3 and words[2].text.startswith("@"):
        if line.receive:
            raise _refused(line, NO_PRIVATE_REVERSE, words[0].start)
        return _private_send(line, words, catalog, book, choose + sold)
    return _swap(line, words, catalog, choose, sold)


def _is_token(word: _Word, catalog: Catalog) -> bool:
    """Whether a token stands, or is being typed, where an amount belongs."""
    if not word.text[0].isalpha():
        return False
    if word.start or (word.last and catalog.begins_a_symbol(word.text)):
        # A token that was chosen into an empty line leaves a blank for the amount.
        return True
    return bool(resolve(word.text, catalog).candidates)


def _without_amount(words: list[_Word], catalog: Catalog) -> IntentLine:
    """What is written without its amount, which is asked for once the words are tokens."""
    line = IntentLine(LineState.INCOMPLETE, message=TYPE_AMOUNT, wants_amount=True)
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
    if receive and not text:
        state = LineState.INCOMPLETE if alone and word.last else LineState.REFUSED
        said = "Type what is to arrive: =2 btc eth."
        raise _Stop(IntentLine(state, message=said, place=word.start, receive=True))
    try:
        amount = parse_amount(text)
    except AmountError as error:
        place = word.start + int(receive) + error.position
        # "0." on the way to "0.5" is not a mistake yet.
        unfinished = alone and word.last and text[:-1].isdigit() and text[-1] == "."
        state = LineState.INCOMPLETE if unfinished else LineState.REFUSED
        raise _Stop(IntentLine(state, message=error.message, place=place)) from None
    if amount == 0:
        state = LineState.INCOMPLETE if alone and word.last else LineState.REFUSED
        raise _Stop(IntentLine(state, message="Type an amount above 0.", place=word.start))
    return IntentLine(LineState.INCOMPLETE, amount=amount, receive=receive)


def _swap(
    line: IntentLine, words: list[_Word], catalog: Catalog, choose: int, first: int
) -> IntentLine:
    sells = _candidates(line, words[1], catalog)
    if len(words) == 2:
        sold = _pick(sells, choose + first, catalog)
        line = _sold(line, sold, words)
        return replace(
            _walked(line, sold, None, choose), message="Name the token you buy, or @name."
        )
    buys = _candidates(line, words[2], catalog)
    # The bought token is walked through first; each sold token has its own list of others.
    lists = [(at, [row for row in buys if row.id != sell.id]) for at, sell in enumerate(sells)]
    first %= len(lists)
    lists = lists[first:] + lists[:first]
    total = sum(len(others) for _, others in lists)
    if total == 0:
        raise _refused(
            _sold(line, _pick(sells, 0, catalog), words),
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
    line = _sold(line, sold, words)
    _allow(line, bought.token, words[2])
    line = replace(line, token_out=bought.token)
    if line.receive:
        _fitting(line, bought.token, words[0])
    return replace(_walked(line, sold, bought, choose, first), choices=total, sells=len(sells))


def _private_send(
    line: IntentLine, words: list[_Word], catalog: Catalog, book: AddressBook, choose: int
) -> IntentLine:
    entry = _entry(line, words[2], book)
    rows = _candidates(line, words[1], catalog)
    line = replace(line, recipient_name=entry.name, private_send=True)
    reachable = [row for row in rows if entry.fits(row.kind, row.chain)]
    if not reachable:
        sold = _pick(rows, 0, catalog)
        raise _refused(_sold(line, sold, words), _misfit(entry, sold.token), words[2].start)
    private = [row for row in reachable if row.has_self_private]
    if not private:
        row = reachable[0]
        sentence = f"{row.symbol} on {row.chain_name} cannot be sent privately."
        raise _refused(line, sentence, words[1].start)
    sold = _pick(private, choose, catalog)
    line = replace(_sold(line, sold, words), token_out=sold.token)
    return _walked(line, sold, None, choose)


def _candidates(line: IntentLine, word: _Word, catalog: Catalog) -> list[TokenRow]:
    if word.text.startswith("@"):
        raise _refused(line, "Name the token before the recipient.", word.start)
    found = resolve(word.text, catalog)
    if found.candidates:
        return list(found.candidates)
    unfinished = catalog.begins_a_symbol(word.text) and not catalog.rows_of_symbol(word.text)
    if word.last and unfinished:
        raise _Stop(replace(line, message="", place=None))
    raise _refused(line, found.problem or "", word.start)


def _pick(rows: list[TokenRow], at: int, catalog: Catalog) -> TokenChoice:
    at %= len(rows)
    token = catalog.token(rows[at].id)
    if token is None:
        raise _Stop(IntentLine(LineState.REFUSED, message="The list of tokens changed."))
    return TokenChoice(token, tuple(rows), at)


def _sold(line: IntentLine, sold: TokenChoice, words: list[_Word]) -> IntentLine:
    """The line with its token to sell, whose decimals bound the amount."""
    line = replace(line, token_in=sold.token)
    if not line.receive:
        _fitting(line, sold.token, words[0])
    _allow(line, sold.token, words[1])
    return line


def _fitting(line: IntentLine, token: Token, word: _Word) -> None:
    """Refuses an amount with more decimals than the token it is in."""
    text = word.text.removeprefix("=")
    try:
        parse_amount(text, decimals=token.decimals, symbol=token.symbol)
    except AmountError as error:
        place = word.start + len(word.text) - len(text) + error.position
        raise _refused(line, error.message, place) from None


def _allow(line: IntentLine, token: Token, word: _Word) -> None:
    refusal = token_refusal(token)
    if refusal is not None:
        raise _refused(line, refusal, word.start)


def _walked(
    line: IntentLine, sold: TokenChoice, bought: TokenChoice | None, choose: int, first: int = 0
) -> IntentLine:
    """The complete line: which tokens were chosen among several, and what the keys do."""
    picks = [pick for pick in (sold, bought) if pick is not None]
    walk = next((pick for pick in reversed(picks) if len(pick.rows) > 1), None)
    tied = [pick for pick in picks if pick.tied and choose == 0 and (first == 0 or pick is bought)]
    both = None
    if bought is not None and sold.brief and bought.brief:
        both = (sold.brief, bought.brief)
    hints = (pick.hint(private=line.private_send) for pick in picks)
    line = replace(
        line,
        hints=tuple(hint for hint in hints if hint is not None),
        rows=walk.rows if walk is not None else (),
        chosen=walk.at if walk is not None else 0,
        choices=len(walk.rows) if walk is not None else 1,
        both_hints=both,
    )
    if line.token_out is None:
        return line
    if tied:
        asked = tied[-1]
        key = SOLD_KEY if both is not None and asked is sold else BOUGHT_KEY
        return replace(line, state=LineState.AMBIGUOUS, message=asked.question(key))
    return replace(line, state=LineState.VALID)


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
    return _Stop(replace(line, state=LineState.REFUSED, message=message, place=place))


class PrivateLine(Struct, frozen=True):
    """``recipient`` is the address or ``@name`` of the line, empty when the form asks for it."""

    line: IntentLine
    recipient: str = ""


def parse_private_line(
    text: str, catalog: Catalog, book: AddressBook, *, choose: int = 0
) -> PrivateLine:
    """Read the line; never raises. Only tokens that can be sent privately are chosen, and of them
    those on a chain that the recipient is an address of: what is none costs no quote."""
    words = text.split()
    if len(words) > 2 and words[2].startswith("@"):
        line = parse_intent_line(text, catalog, book, choose=choose)
        return PrivateLine(line, words[2])
    if len(words) > 3:
        line = IntentLine(
            LineState.REFUSED, message="Write an amount, a token and whom to pay.", place=0
        )
        return PrivateLine(replace(line, private_send=True))
    recipient = words[2] if len(words) == 3 else ""
    cut = text.rindex(recipient) if recipient else len(text)
    line = parse_intent_line(text[:cut], catalog, book)
    if line.message == NAME_TOKEN:
        line = replace(line, message="Name the token you send.")
    if line.token_in is None or line.state is LineState.REFUSED:
        return PrivateLine(replace(line, private_send=True), recipient)
    rows = resolve(words[1], catalog).candidates
    private = tuple(row for row in rows if row.has_self_private)
    token = catalog.token(private[choose % len(private)].id) if private else None
    if token is None:
        row = rows[0]
        sentence = f"{row.symbol} on {row.chain_name} cannot be sent privately."
        refused = replace(
            line, state=LineState.REFUSED, message=sentence, place=None, private_send=True
        )
        return PrivateLine(refused, recipient)
    if recipient:
        reached = tuple(row for row in private if _verdict(row, recipient, catalog).ok)
        if not reached:
            verdict = _verdict(private[choose % len(private)], recipient, catalog)
            place = cut + max(0, (verdict.position or 1) - 1)
            refused = replace(line, state=LineState.REFUSED, message=verdict.reason, place=place)
            return PrivateLine(replace(refused, private_send=True), recipient)
        private = reached
        token = catalog.token(private[choose % len(private)].id) or token
    hint = TokenChoice(token, private, choose % len(private)).hint(private=True)
    line = replace(
        line,
        state=LineState.VALID,
        token_in=token,
        token_out=token,
        message="",
        hints=line.hints if hint is None else (hint,),
        rows=private,
        chosen=choose % len(private),
        choices=len(private),
        private_send=True,
        recipient=recipient,
    )
    return PrivateLine(line, recipient)


def _verdict(row: TokenRow, recipient: str, catalog: Catalog) -> AddressVerdict:
    """Whether a token can be paid to this address, by the chain's own form and checksum."""
    token = catalog.token(row.id)
    return check_recipient(
        row.kind,
        recipient,
        token.chain_data.address_validation if token is not None else None,
        chain_name=row.chain_name,
        symbol=row.symbol,
        contracts=catalog.rows.contracts_on(row.chain),
    )
