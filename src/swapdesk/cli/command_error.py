"""How a command ends with an error: exit codes, error codes, and the message of each code (the
cause, where the money is, and who acts next). Scripts branch on the exit code and the error code.

``OWN_ROWS`` has the desk's own codes with general messages; a command may pass a more specific
message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from msgspec import Struct

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.failure_messages import Failure
    from swapdesk.wallet.protocol import WalletError


class Retry(StrEnum):
    """Whether giving the same command again helps after an error."""

    YES = "yes"
    """The same command may be given again: either nothing was done, or what was done is not
    repeated."""
    LATER = "later"
    """The same command helps later, for example when a limit's minute is over or a transaction is
    confirmed."""
    CORRECTED = "corrected"
    """The same command helps only after the user has carried out the step in ``next``."""
    NO = "no"
    """The user should look at what happened first, because something may have been done already."""


class Exit(IntEnum):
    """How a command ends: its exit code, the meaning, and whether giving the same command again
    helps."""

    means: str
    retry: Retry

    def __new__(cls, number: int, means: str, retry: Retry) -> Self:
        end = int.__new__(cls, number)
        end._value_, end.means, end.retry = number, means, retry
        return end

    DONE = 0, "done", Retry.NO
    DEFECT = 1, "a defect in swapdesk", Retry.NO
    BAD_INPUT = 2, "bad input or ambiguity", Retry.CORRECTED
    """Bad input, an ambiguous token, or a wrong or missing setting."""
    THRESHOLD = 3, "a threshold was exceeded; nothing was created", Retry.YES
    """A threshold set by the user was exceeded: the loss in value, the minimum output, or the time
    to wait."""
    REFUSED = 4, "refused by the service", Retry.CORRECTED
    """Refused by the service (401, 403, 409, 422 and other refusals), or no usable route."""
    NOT_FOUND = 5, "not found", Retry.CORRECTED
    RATE_LIMITED = 6, "rate limited", Retry.LATER
    UNREACHABLE = 7, "not reachable or 5xx; nothing was created", Retry.YES
    """The service was not reachable, or its answer was a 5xx or unusable; nothing was created."""
    UNKNOWN = 8, "outcome unknown; journaled, see orders list", Retry.NO
    """It is unknown whether the service carried the request out; the request is in the journal."""
    OWN_REFUSAL = 9, "refused by the desk's own checks", Retry.CORRECTED
    """The desk's own checks, or the wallet's, refused."""
    ENDED_OTHERWISE = 10, "an order ended otherwise than completed", Retry.NO
    """At least one order ended in another way than completed."""
    NOT_WRITTEN = 11, "the output could not be written; what was done stands", Retry.NO
    """Standard output could not be written. Everything else that the command did remains done."""
    INTERRUPTED = 130, "interrupted", Retry.YES
    """Ctrl-C, or a question that was not answered with yes."""


class ErrorCodeFacts(Struct, frozen=True):
    """An error code: its general message, its exit codes, and the HTTP status of a service's answer
    with this code."""

    code: str
    means: str
    retry: Retry
    money: str
    next: str
    exits: tuple[int, ...]
    status: int | None = None
    family: str = ""
    noun: str = ""


@dataclass(eq=False)
class CommandError(Exception):
    """The error that ends a command. ``fields`` maps each wrong input to its message. An empty
    ``money`` or ``next`` becomes the usual text for the code."""

    PRINTED: ClassVar = {
        "code": "code", "message": "message", "status": "status", "requestId": "request_id",
        "fields": "fields", "money": "money", "next": "next", "family": "family", "noun": "noun",
    }  # fmt: skip

    exit: Exit
    code: str
    message: str
    money: str = ""
    next: str = ""
    status: int | None = None
    request_id: str | None = None
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A code of others that comes without these words has sent nothing.
        own = OWN_CODES.get(self.code)
        self.money = self.money or (own.money if own is not None else UNTOUCHED)
        self.next = self.next or (own.next if own is not None else CORRECT)

    def __str__(self) -> str:
        return self.message

    @property
    def family(self) -> str:
        """The family of the error code, such as ``BAD`` for ``BAD_AMOUNT``; for a code without a
        family, the code itself."""
        return _FAMILY_OF.get(self.code, (self.code, ""))[0]

    @property
    def noun(self) -> str:
        """The noun after the family's name, such as ``amount`` for ``BAD_AMOUNT``; empty without a
        family."""
        return _FAMILY_OF.get(self.code, (self.code, ""))[1]


class ErrorDocument(Struct, frozen=True):
    """The document that ``--json`` prints on standard error if a command fails."""

    error: CommandError


def bad_input(
    code: str,
    message: str,
    *,
    field: str | None = None,
    money: str = "",
    next: str = "",
    **facts: Any,
) -> CommandError:
    """Returns an error with exit 2. ``field`` is the argument or option at fault, and ``facts`` are
    further details about it."""
    fields = {field: {"message": message, **facts}} if field else {}
    return CommandError(Exit.BAD_INPUT, code, message, money, next, fields=fields)


@contextmanager
def refused_as(
    kind: type[Exception] | tuple[type[Exception], ...],
    code: str,
    before: str = "",
    *,
    field: str | None = None,
    money: str = "",
    next: str = "",
) -> Iterator[None]:
    """Replaces an error of the type ``kind``, raised in the ``with`` block, by a CommandError (exit
    2). The message is ``before`` followed by the original reason."""
    try:
        yield
    except kind as error:
        why = (getattr(error, "strerror", None) or str(error)).rstrip(".")
        message = f"{before}{why}{'' if why.endswith('?') else '.'}"
        raise bad_input(code, message, field=field, money=money, next=next) from None


def own_refusal(code: str, message: str, *, money: str = "", next: str = "") -> CommandError:
    """Returns an error with exit 9, for something that the desk's own checks refuse."""
    return CommandError(Exit.OWN_REFUSAL, code, message, money, next)


def not_confirmed(message: str, *, money: str = "") -> CommandError:
    """Returns an error with exit 130, for a question that was not answered with yes."""
    return CommandError(Exit.INTERRUPTED, "NOT_CONFIRMED", message, money)


def unusable_journal(problem: str) -> CommandError:
    return CommandError(
        Exit.OWN_REFUSAL,
        "NO_JOURNAL",
        f"The journal cannot be used: {problem}. Which orders there are stands in it.",
        UNMOVED,
        "you: make room or mend the file; swapdesk api GET /orders shows what the service lists",
    )


UNTOUCHED = "in your wallet; nothing was sent"
UNMOVED = "where it was; nothing was sent"
"""Where the money is, after a command about existing orders failed."""
UNSENT = "nothing was sent"
"""Where the money is, if the command line cannot be understood: then it is unknown which money it
was about."""
UNSERVED = "where it was; this process does nothing"
"""Where the money is, if the process of a service does not start or cannot continue."""
CORRECT = "you: correct the command"
JOURNAL = "where the journal says"
SANDBOX = "in the sandbox; none of it is real"
UNPAID = "in your wallet; nothing was paid"
IN_SMART = "in your wallet and your smart account; no deposit was paid"
ON_ITS_WAY = "where the chain shows the transaction"
SHOW = "you: swapdesk orders show tells how the order stands"
STATUS = "you: swapdesk batch status shows how the batch stands"
QUOTES = "you: ask for new quotes"
YES = "you: add --yes once you have read what is done"
REVIEW = "you: look at what was refused; ask for new quotes"
WAIT = "you: give the same command again; nothing is signed twice"

_BAD = (Exit.BAD_INPUT,)
_REFUSED = (Exit.REFUSED,)
_NOT_FOUND = (Exit.NOT_FOUND,)
_OWN = (Exit.OWN_REFUSAL,)
_OPEN = (Exit.UNKNOWN,)
_ENDED = (Exit.ENDED_OTHERWISE,)
_FAR = (Exit.UNREACHABLE,)

Row = (
    tuple[str, tuple[Exit, ...], str, str, str] | tuple[str, tuple[Exit, ...], str, str, str, Retry]
)

OWN_ROWS: tuple[Row, ...] = (
    # What was typed, and files that were named.
    ("USAGE", _BAD, "The command line cannot be read.", UNSENT, CORRECT),
    ("REMOVED", _BAD, "The command or the option is gone in this version.", UNSENT,
     "you: use what the message names"),
    ("CONFIG", _BAD, "The configuration is wrong.", UNTOUCHED, "you: correct the configuration"),
    ("CREDENTIALS", _BAD, "The key or secret of the profile cannot be used.", UNTOUCHED,
     "you: correct the credentials"),
    ("NOT_CONFIGURED", _BAD, "The profile names no service or no key.", UNTOUCHED,
     "you: configure the profile"),
    ("NO_SUCH_PROFILE", _BAD, "There is no profile of that name.", UNTOUCHED, CORRECT),
    ("UNSAFE_PLACE", _BAD, "The home of the desk is open to other users.", UNTOUCHED,
     "you: put its files right; swapdesk doctor says how"),
    ("NO_HOME", _BAD, "The user has no home directory, and none was named.", UNTOUCHED,
     "you: set SWAPDESK_HOME to a directory of your own"),
    ("MISSING_EXTRA", _BAD, "What this command needs is not installed.", UNTOUCHED,
     "you: install the extra that the message names"),
    ("NO_TERMINAL", _BAD, "The desk needs a terminal that it can draw on.", UNTOUCHED,
     "you: open it in a terminal, or use commands"),
    ("SANDBOX_ONLY", (Exit.BAD_INPUT, Exit.OWN_REFUSAL),
     "This works in the sandbox alone, and the profile is live.", UNTOUCHED, CORRECT),
    ("ONLY_SANDBOX", _BAD, "Nothing is named that could be served.", UNTOUCHED,
     "you: add --sandbox or --config"),
    ("VENUES_MISSING", _BAD, "Venues of the file need what is not there.",
     UNSERVED,
     "you: supply what is missing, or set required = false"),
    ("ONLY_LOOPBACK", _BAD, "The chains serve this machine alone.", UNTOUCHED, CORRECT),
    ("NEEDS_YES", _BAD, "It creates, signs or writes, and nobody can be asked.", UNTOUCHED, YES),
    ("NEEDS_CONFIRMATION", _BAD, "A phrase has to be typed, and nobody can be asked.", UNTOUCHED,
     "you: add --confirm with the phrase"),
    ("NEEDS_DRY_RUN", _BAD, "A signature is given as a step of a swap.", UNTOUCHED, CORRECT),
    ("NEEDS_KIND", _BAD, "A mnemonic leads to accounts of several kinds.", UNTOUCHED,
     "you: add --kind"),
    ("NEEDS_OUT", _BAD, "A key is not written into what a terminal keeps.", UNTOUCHED,
     "you: add --out FILE, or use a pipe"),
    ("NEEDS_SECRET", _BAD, "A pass phrase or a key has to be given, and nobody can be asked.",
     UNTOUCHED, "you: give it through the descriptor that the message names"),
    ("NOT_NEEDED", _BAD, "The sandbox keeps the pass phrase of its wallet itself.", UNTOUCHED,
     CORRECT),
    ("BAD_DESCRIPTOR", _BAD, "The file descriptor cannot be read.", UNTOUCHED, CORRECT),
    ("BAD_SECRET", _BAD, "What was given is empty, too long or no text.", UNTOUCHED, CORRECT),
    ("PASSPHRASES_DIFFER", _BAD, "The two pass phrases are not the same.", UNTOUCHED, CORRECT),
    ("BAD_AMOUNT", _BAD, "The amount cannot be read.", UNTOUCHED, CORRECT),
    ("BAD_BODY", _BAD, "The body of the call cannot be read.", UNTOUCHED, CORRECT),
    ("BAD_FAULT", _BAD, "The fault cannot be set like that.", UNMOVED, CORRECT),
    ("BAD_FILE", _BAD, "The file cannot be read or written.", UNTOUCHED, CORRECT),
    ("BAD_FILTER", _BAD, "The filter cannot be understood.", UNMOVED, CORRECT),
    ("BAD_MEMO", _BAD, "The memo does not fit its chain.", UNTOUCHED, CORRECT),
    ("BAD_OPTION", _BAD, "An option does not fit this command.", UNTOUCHED, CORRECT),
    ("BAD_ORDER_ID", _BAD, "The text is no id of an order.", UNMOVED, CORRECT),
    ("BAD_PARAMETER", _BAD, "A parameter is not written as name=value.", UNTOUCHED, CORRECT),
    ("BAD_RECIPIENT", _BAD, "The recipient is no address of its chain.", UNTOUCHED, CORRECT),
    ("BAD_REFUND_ADDRESS", _BAD, "The refund address is missing or no address of its chain.",
     UNTOUCHED, CORRECT),
    ("BAD_REFUND_MEMO", _BAD, "The refund memo does not fit.", UNTOUCHED, CORRECT),
    ("BAD_LIMIT", _BAD, "A limit or a price is not written as TOKEN.CHAIN=AMOUNT.", UNTOUCHED,
     CORRECT),
    ("NOTHING_GIVEN", _BAD, "Nothing was given that could be set.", UNTOUCHED, CORRECT),
    ("BAD_TIME", _BAD, "The text is no date and no time.", UNTOUCHED, CORRECT),
    ("BAD_TOKEN", _BAD, "A token is not written as TOKEN.CHAIN.", UNTOUCHED, CORRECT),
    ("BAD_TIMEOUT", _BAD, "The timeout is no time.", UNMOVED, CORRECT),
    ("BAD_WAIVER", _BAD,
     "A memo is waived only by the sentence that the message names.", UNTOUCHED, CORRECT),
    ("AMBIGUOUS", _BAD, "Several things fit; the message names them.", UNTOUCHED, CORRECT),
    ("AMBIGUOUS_ORDER", _BAD,
     "Several orders fit; the member fields lists them.", UNMOVED, CORRECT),
    ("AMBIGUOUS_TOKEN", _BAD, "The symbol is on several chains; the member fields lists them.",
     UNTOUCHED, CORRECT),
    ("TWO_CHOICES", _BAD, "Two options choose the same thing.", UNTOUCHED, CORRECT),
    ("QUOTE_DIFFERS", _BAD, "The quote is for something else than the command says.", UNTOUCHED,
     CORRECT),
    ("NOT_ON_CHAIN", _BAD, "The route is paid by a deposit; there is nothing to sign.", UNTOUCHED,
     CORRECT),
    ("NO_SUCH_PROVIDER", _BAD, "That provider has no usable route.", UNTOUCHED, CORRECT),
    ("NO_SUCH_CHAIN", _BAD, "The chain is not known, or nothing here works on it.", UNTOUCHED,
     CORRECT),
    ("NO_SUCH_FAULT", _BAD, "There is no fault of that name.", UNMOVED,
     "you: swapdesk trigger list names them"),
    ("NO_SUCH_KIND", _BAD, "There is no such kind of facts to show.", UNMOVED, CORRECT),
    ("NO_SUCH_COMMAND", _BAD, "There is no command of that name with a document.", UNTOUCHED,
     "you: swapdesk commands names them"),
    ("NO_SUCH_PAGE", _BAD, "The documents say nothing about a thing of that name.", UNTOUCHED,
     "you: swapdesk docs lists the pages"),
    ("NO_SCHEMA", _BAD, "The command prints no document of this program.", UNTOUCHED, CORRECT),
    ("NO_NODES", (Exit.BAD_INPUT, Exit.OWN_REFUSAL), "No node of the chain is configured.",
     UNTOUCHED, "you: name a node under rpc"),
    ("NO_ROW", _BAD, "The file has no row of that number.", UNTOUCHED, CORRECT),
    ("NO_GROUP", _BAD, "The batch has no group of that number.", UNMOVED, CORRECT),
    ("NO_FILE", _BAD, "No file is named, or it cannot be read.", UNTOUCHED, CORRECT),
    ("NO_MOMENTS", _BAD, "The file holds no moments of a tape.", SANDBOX, CORRECT),
    ("NO_CASE_FILE", _BAD, "The file is no support case.", UNMOVED, CORRECT),
    ("NOTHING_TO_LOOK_UP", _BAD, "Nothing in the text leads to an order.", UNMOVED, CORRECT),
    ("NOT_FAILED", _BAD, "The order does not need anybody, so it is not put away.",
     "where the order says", "nobody: nothing is to be done", Retry.NO),
    ("WRONG_CHAIN", _BAD, "The account is of another chain.", UNTOUCHED, CORRECT),
    ("FILE", _BAD, "The file cannot be written.", UNMOVED, CORRECT),
    ("FILE_EXISTS", _BAD, "There is a file of that name, and it is not replaced.", UNMOVED,
     CORRECT),
    ("BAD_RECEIVER", _BAD, "The address cannot be posted to.", UNTOUCHED, CORRECT),
    ("NO_SECRET", _BAD, "The file that signatures are made with holds no secret.", UNTOUCHED,
     "you: put the secret back, or remove the file and give the new secret to the receiver"),
    ("NO_DELIVERY", _BAD, "The journal has no state of that id.", UNTOUCHED, CORRECT),
    ("NO_SUCH_MONTH", _BAD, "The text is no month.", UNMOVED, CORRECT),
    ("NO_SUCH_PARTNER", _BAD, "The service has no such partner.", UNMOVED, CORRECT),
    ("NO_SUCH_KEY", _BAD, "No partner of the service has this key.", UNMOVED, CORRECT),
    ("NAME_TAKEN", _BAD, "Another partner has this name.", UNMOVED, CORRECT),
    ("BAD_NAME", _BAD, "The text is no name of a partner.", UNMOVED, CORRECT),
    ("BAD_ORIGIN", _BAD, "The text is no origin of a page, or not on the list.", UNMOVED,
     CORRECT),
    ("CANNOT_SHOW", _BAD,
     "The demonstration cannot be shown with these options.", UNMOVED, CORRECT),
    ("BATCH_PROBLEMS", _BAD, "Rows of the file cannot be created; the plan names them.",
     UNTOUCHED, "you: correct the file"),
    ("CELL", _BAD, "A cell of the file is too long.", UNTOUCHED, "you: shorten it"),
    ("COLUMN_MISSING", _BAD, "A column is missing in the file.", UNTOUCHED,
     "you: swapdesk batch template writes them"),
    ("COLUMN_TWICE", _BAD, "A column is twice in the file.", UNTOUCHED, "you: keep one"),
    ("DECIMAL_COMMA", _BAD, "An amount can be read in two ways.", UNTOUCHED,
     "you: write it without the point"),
    ("EMPTY", _BAD, "The file has no rows.", UNTOUCHED, "you: write a row for each recipient"),
    ("ENCODING", _BAD, "The file is not UTF-8.", UNTOUCHED, "you: save it as CSV in UTF-8"),
    ("QUOTES", _BAD, "The quotes of the file are not closed.", UNTOUCHED, CORRECT),
    ("SEPARATOR", _BAD, "The file has no columns.", UNTOUCHED, CORRECT),
    ("TOO_LARGE", _BAD, "The file is too large.", UNTOUCHED, "you: split it"),
    ("TOO_MANY_ROWS", _BAD, "The file has too many rows.", UNTOUCHED, "you: split it"),
    # Creating an order.
    ("TOKEN_NOT_FOUND", (Exit.NOT_FOUND, Exit.OWN_REFUSAL), "The token is not known.", UNTOUCHED,
     "you: choose another token, or give its contract address"),
    ("TOKEN_DISABLED", (Exit.NOT_FOUND, Exit.OWN_REFUSAL),
     "This token or its chain is disabled at the moment.", UNTOUCHED,
     "you: choose another token, or wait", Retry.LATER),
    ("TOKEN_REFUSED", _OWN, "The desk does not use this token.", UNTOUCHED,
     "you: choose another token"),
    ("TOKEN_WARNING", _OWN, "There is a warning about this token.", UNTOUCHED,
     "you: add --accept-warnings once you have read it"),
    ("ADDRESS_REFUSED", _OWN, "The desk does not pay to this address.", UNTOUCHED,
     "you: check the recipient"),
    ("LOOKALIKE_ADDRESS", _OWN, "The address looks like one that was paid before.", UNTOUCHED,
     "you: compare the whole address"),
    ("ADDRESS_WARNING", _OWN, "What is paid to the address may be lost.", UNTOUCHED,
     "you: correct the address, or add --accept-warnings if you mean it"),
    ("MEMO_WARNING", _OWN, "The memo may not be the recipient's.", UNTOUCHED,
     "you: correct the memo, or add --accept-warnings if you mean it"),
    ("QUOTE_NOT_FOUND", _NOT_FOUND, "The quote was not shown here within the last hour.",
     UNTOUCHED, QUOTES),
    ("NO_SUCH_PRESET", _NOT_FOUND, "The desk keeps no preset of that name.", UNTOUCHED, CORRECT),
    ("NO_USABLE_ROUTE", _REFUSED, "No route takes this.", UNTOUCHED,
     "you: another amount, token or route"),
    ("MAX_LOSS", (Exit.THRESHOLD,), "More value would be lost than --max-loss allows.", UNTOUCHED,
     "you: try again, or allow more"),
    ("MIN_OUT", (Exit.THRESHOLD,), "Less would arrive than --min-out asks for.", UNTOUCHED,
     "you: try again, or ask for less"),
    ("ADDRESS_TO_IN_DEPOSIT_LOG", _REFUSED, "The recipient is the deposit address of an order.",
     UNTOUCHED, "you: ask the recipient for an address of their own"),
    ("QUOTE_UNUSABLE", _OWN, "The quote cannot be used.", UNTOUCHED, QUOTES),
    ("QUOTE_EXPIRED", (Exit.OWN_REFUSAL, Exit.REFUSED), "The quote ended.", UNTOUCHED, QUOTES),
    ("NOT_CONFIRMABLE", _OWN, "What would be created does not fit together.", UNTOUCHED, QUOTES),
    ("NOT_CONFIRMED", (Exit.OWN_REFUSAL, Exit.INTERRUPTED),
     "A person answered no, or did not answer.",
     UNTOUCHED, "you: give the command again"),
    ("CLOCK_SKEW", _FAR, "The clocks of machine and service differ by over two minutes.",
     UNTOUCHED, "you: set the clock of this machine", Retry.CORRECTED),
    ("ALREADY_ASKED", _OWN, "This confirmation was used before.", JOURNAL,
     "you: look at swapdesk orders list", Retry.NO),
    ("NOT_CREATED", (Exit.UNREACHABLE, Exit.OWN_REFUSAL), "The service shows no such order.",
     UNPAID, QUOTES),
    ("OUTCOME_UNKNOWN", _OPEN, "No answer says whether it was done.", UNPAID,
     "the desk: it looks for the order before anything is tried again"),
    ("OUTCOME_PENDING", _OPEN, "The same payment was asked before, and nobody knows its outcome.",
     UNPAID, "the desk: it looks for the first order"),
    ("ORDER_DIFFERS", _OWN, "The order is not what was confirmed; its address is not shown.",
     UNPAID, "you: do not pay this order; ask for new quotes", Retry.NO),
    ("NOT_REPEATED", _OWN, "The service has yet to repeat where to pay.", UNPAID,
     "the service; swapdesk orders show asks again", Retry.LATER),
    ("ORDER_NOT_KNOWN", _OPEN, "The service answered with an order that it does not know.", UNPAID,
     "the desk: it asks again; swapdesk orders show asks now"),
    ("NOT_FUNDED", (Exit.UNKNOWN, Exit.OWN_REFUSAL),
     "The order was created, and its deposit was not paid or may not have been.",
     "in your wallet, or on its way to the deposit address", SHOW),
    ("NO_JOURNAL", (Exit.UNKNOWN, Exit.OWN_REFUSAL), "The journal cannot be written or read.",
     JOURNAL, "you: make room or mend the file"),
    ("JOURNAL_NEWER", _OWN, "A newer swapdesk wrote the journal.",
     "where it was; every order stands in the journal", "you: start the newer swapdesk"),
    ("JOURNAL_NOT_MOVED", _OWN, "The journal could not be brought up to this version.",
     "where it was; every order stands in the journal", "you: make room and start again"),
    ("JOURNAL_UNKNOWN", _OWN, "No swapdesk writes such a journal.",
     "where it was; every order stands in the journal", "you: move the file"),
    ("FILE_UNUSABLE", (Exit.OWN_REFUSAL, Exit.BAD_INPUT),
     "A file of the desk cannot be read or written.", JOURNAL,
     "you: make room, or let this user write there, and give the command again"),
    ("READ_ONLY", _OWN, "This desk only reads, or another desk has the wallet.", UNTOUCHED,
     "whoever may write: a profile with a key, or the other desk"),
    # Signing, and what is on its way.
    ("NOT_PAYABLE", _OWN, "The wallet cannot pay this order.", UNPAID,
     "you: send it from a wallet of that chain"),
    ("PAID_BEFORE", _OWN, "The order was paid before, or may have been.",
     "with the payment that there is", "the venue; swapdesk orders show tells how it stands",
     Retry.NO),
    ("NOT_PAID", _OWN,
     "The service wants each call paid, in a way that is not known here.", UNTOUCHED,
     "you: look at what the service asks for; nothing was signed"),
    ("NO_NODE", _OWN, "No node of the chain is configured on which calls are paid.", UNTOUCHED,
     "you: name its node under rpc of this profile"),
    ("NOT_ENOUGH", _OWN, "The account does not hold enough for this and its gas.", UNPAID,
     "you: fill the account"),
    ("NOT_SENT", _OPEN, "It was signed, and no node took it yet.", JOURNAL, WAIT, Retry.LATER),
    ("NOT_SEEN_YET", _OPEN, "The service has not seen the transaction yet.", ON_ITS_WAY, SHOW,
     Retry.LATER),
    ("NOT_FINAL", _OPEN, "It is on a chain and not final yet.", ON_ITS_WAY, WAIT, Retry.LATER),
    ("ON_ITS_WAY", _OPEN, "What was signed is on its way.", ON_ITS_WAY, WAIT, Retry.LATER),
    ("BLOCKHASH_OLD", _OWN, "The transaction was not sent in time; it paid nobody.", UNPAID, WAIT,
     Retry.YES),
    ("TAKEN_BACK", _OWN, "The payment was taken back before it left.", UNPAID, SHOW),
    ("TOO_LATE", _OWN, "The transaction of the order was not sent in time.", UNPAID, QUOTES),
    ("FAILED", (Exit.OWN_REFUSAL, Exit.ENDED_OTHERWISE),
     "The transaction was executed and failed; it moved nothing but its gas.", UNPAID,
     "you: look at the order with swapdesk orders show"),
    ("REPLACED", (Exit.OWN_REFUSAL, Exit.ENDED_OTHERWISE),
     "Another transaction took the nonce; this one paid nobody.", UNPAID, SHOW),
    ("LOST", _OWN, "The transaction was not executed in time; it paid nobody.", UNPAID, SHOW),
    ("ABANDONED", _OWN, "The transaction never left and was given up.", UNPAID, SHOW),
    ("APPROVAL_FAILED", _OWN, "An approval was executed and failed.",
     "in your wallet; gas was paid", QUOTES),
    ("SIGNATURE_CHAIN", _OWN, "The service contradicts itself in what is to be signed.", UNPAID,
     QUOTES),
    ("NOTHING_TO_SEND", _OWN, "The order has no transaction that could be signed.", UNPAID, QUOTES),
    ("OWNER_DIFFERS", _OWN, "What is to be signed is for another account.", UNPAID, QUOTES),
    ("CHAIN_ID_DIFFERS", _OWN, "What is to be signed is for another chain.", UNPAID, QUOTES),
    ("TRANSACTION_KIND", _OWN, "What is to be signed is of a kind that is not signed here.",
     UNPAID, QUOTES),
    ("VALUE_UNREADABLE", _OWN, "What is to be signed cannot be read.", UNPAID, QUOTES),
    ("UNKNOWN_SIGNATURE", _OWN, "The service asks for a signature that is not known.", UNPAID,
     QUOTES),
    ("WALLET", _OPEN, "The wallet could not go on.", JOURNAL, WAIT, Retry.YES),
    ("NOT_REVOKED", _OWN, "The allowance was not ended.", UNTOUCHED, "you: give the command again",
     Retry.YES),
    ("REVERTED", _ENDED, "The replacement was executed and failed.",
     "in your wallet; gas was paid", "you: swapdesk wallet transactions shows both"),
    ("NOT_BUMPED", _OWN, "The first transaction is as it was.", ON_ITS_WAY,
     "you: swapdesk wallet transactions shows it"),
    ("NOT_CANCELLED", _OWN, "The first transaction was executed, or cannot be taken back.",
     ON_ITS_WAY, "you: swapdesk wallet transactions shows it"),
    ("STILL_WAITING", _OPEN, "Both transactions wait; one of them will be executed.", ON_ITS_WAY,
     WAIT, Retry.LATER),
    ("UNDECIDED", _OPEN, "Both transactions wait; one of them will be executed.", ON_ITS_WAY, WAIT,
     Retry.LATER),
    ("NOTHING_HELD", _NOT_FOUND, "The smart account holds nothing of it.",
     "where it was; nothing was sent", "nobody: nothing is to be done"),
    ("NEEDED_BY_BUNDLE", _OWN, "A bundle needs what the smart account holds.",
     "in your smart account", STATUS),
    ("NOT_WITHDRAWN", (Exit.OWN_REFUSAL, Exit.ENDED_OTHERWISE), "Nothing was taken out.",
     "in your smart account", "you: give the command again", Retry.YES),
    ("NO_ACCOUNT", _NOT_FOUND, "The wallet has no such account.", UNTOUCHED,
     "you: swapdesk wallet list shows the accounts"),
    ("NO_ALLOWANCE", _NOT_FOUND, "There is no such allowance.", UNTOUCHED,
     "you: swapdesk wallet allowances lists them"),
    ("UNREAD", _FAR, "A chain could not be read.", "where it was; reading moves nothing",
     "you: try again"),
    # Batches.
    ("CREATED_BEFORE", _OWN, "The same rows are a batch already.", JOURNAL, STATUS, Retry.NO),
    ("NO_FAILED_ROWS", _OWN, "No row of the batch is known to have failed.", JOURNAL, STATUS),
    ("NOT_BEGUN", _OWN, "Nothing was interrupted, and nothing is signed.", UNPAID, STATUS),
    ("NOT_YET", _OWN, "A step before this one is due.", JOURNAL, STATUS, Retry.LATER),
    ("OWNED", _OWN, "Another desk works on this batch.", JOURNAL,
     "the other desk: it goes on with the batch; close it to go on here", Retry.LATER),
    ("OTHER_ID", _OPEN, "The service answered about another group.", UNPAID, STATUS),
    ("NO_RESULT", _OWN, "The service created no order of the row.", UNPAID, STATUS),
    ("BUILD_DIFFERS", _OWN, "The service built no bundle of these deposits.", UNPAID, STATUS),
    ("BUILT_BEFORE", _OWN, "The smart account paid something else since this was built.", IN_SMART,
     "you: swapdesk batch build builds it anew"),
    ("GROUP_CHANGED", _OWN, "The group is not what it was when it was built.", IN_SMART, STATUS),
    ("ORDERS_EXPIRED", _OWN, "An order of the group expired.", IN_SMART, STATUS),
    ("FUNDING_FAILED", _OWN, "The transaction that fills the smart account failed.", IN_SMART,
     STATUS),
    ("OTHER_UNDER_WAY", _OWN, "What the smart account holds is for something else.", IN_SMART,
     STATUS),
    ("PART_FAILED", _OWN, "A transaction of the group paid nobody.", UNPAID, STATUS),
    ("NOT_SIGNED", _OWN, "Not everything of the group was signed.", IN_SMART, STATUS),
    ("NOT_SUBMITTED", _OWN, "The signatures did not arrive; nothing was submitted.", IN_SMART,
     STATUS, Retry.YES),
    ("NO_BUNDLE", _OWN, "The service has no bundle that awaits these signatures.", IN_SMART,
     STATUS),
    ("SENT_BEFORE", _OWN, "These signatures left before.", JOURNAL, STATUS, Retry.NO),
    ("UNKNOWN_STATUS", _OWN,
     "The service gives the bundle a status that is not known here.", JOURNAL, STATUS),
    ("BUNDLE_FAILED", _ENDED, "The bundle was executed and failed.", IN_SMART, STATUS),
    ("WITHDRAWN", _ENDED, "The bundle was withdrawn.", IN_SMART, STATUS),
    # Everything else.
    ("TIMEOUT", (Exit.THRESHOLD,), "The orders did not end in time.", "where the last line says",
     "you: watch again; the orders go on without it"),
    ("SECRET_PASTED", _OWN, "The text holds a key or a phrase.",
     "in the wallet of that secret, which everybody who saw it can empty",
     "the owner: move the money to a new wallet", Retry.NO),
    ("SANDBOX_NOT_READY", (Exit.BAD_INPUT, Exit.UNREACHABLE), "The sandbox did not start.",
     UNTOUCHED, "you: try again; its log says more"),
    ("SANDBOX_REFUSED", (Exit.BAD_INPUT, Exit.UNREACHABLE), "The sandbox refused to start.",
     UNTOUCHED, CORRECT),
    ("REFUSED", (Exit.REFUSED, Exit.NOT_FOUND), "The sandbox refused.", UNMOVED,
     "you: choose another target, or an order that has not come so far"),
    ("CASE_FAILED", _OWN, "A case could not be made; those before it stay.",
     "the sandbox's; nothing here is real", "you: swapdesk orders list shows what was made"),
    ("NO_STORE", _NOT_FOUND, "No service has run on this data.", UNMOVED,
     "you: swapdesk serve --sandbox, or name the service with --data or --config"),
    ("STORE_UNUSABLE", _OWN, "The store of the service cannot be used.", UNMOVED,
     "you: do what the message says; a damaged store is restored from a backup"),
    ("NOTHING_DUE", _OWN, "There is nothing to be booked.", UNMOVED, CORRECT),
    ("RECEIVER_GONE", _NOT_FOUND, "The receiver answered 410: it wants no deliveries any more.",
     UNTOUCHED, "you: give listen another receiver, or start it again once this one is back"),
    ("NOT_TAKEN", _FAR, "The receiver did not take the delivery.", UNTOUCHED,
     "you: look at the receiver, then send it again"),
    ("DEMO_FAILED", _REFUSED, "The demonstration could not be carried out.",
     "in a sandbox of its own, which is gone",
     "you: choose another amount, token or seed", Retry.YES),
    ("TAPE_REFUSED", (Exit.BAD_INPUT,), "The file is no tape, or gives a secret.", SANDBOX,
     "you: correct the tape"),
    ("NEVER_CAME", (Exit.THRESHOLD,), "A text that the tape waits for never came.", SANDBOX,
     "you: correct the tape, or give it more patience", Retry.CORRECTED),
    ("TAPE_LEFT", _ENDED, "The desk was left before the tape was over.", SANDBOX,
     "you: play it again"),
    ("TAPE_DIFFERS", _ENDED, "The tape shows something else than expected.", SANDBOX,
     "you: look at what differs"),
    ("TAPE_ON_LIVE", _OWN, "Tapes are for the sandbox alone, and the profile is live.", UNTOUCHED,
     CORRECT),
    ("NOT_WRITTEN", (Exit.BAD_INPUT, Exit.NOT_WRITTEN), "The output could not be written.",
     "where the journal says; what the command did stands",
     "you: orders list shows what exists, before the command is given again"),
    ("INTERRUPTED", (Exit.INTERRUPTED,), "Ctrl-C, or nothing was typed.", JOURNAL,
     "you: look at orders list"),
    ("DEFECT", (Exit.DEFECT,), "A defect in swapdesk.", JOURNAL,
     "you: report it; orders list shows what exists"),
)  # fmt: skip

FAMILIES: dict[str, dict[str, str]] = {
    "BAD": {
        "BAD_AMOUNT": "amount", "BAD_BODY": "body", "BAD_DESCRIPTOR": "descriptor",
        "BAD_FAULT": "fault", "BAD_FILE": "file", "BAD_FILTER": "filter", "BAD_KEY": "key",
        "BAD_LIMIT": "limit", "BAD_MEMO": "memo", "BAD_NAME": "name", "BAD_OPTION": "option",
        "BAD_ORDER_ID": "order id", "BAD_ORIGIN": "origin", "BAD_PARAMETER": "parameter",
        "BAD_RECEIVER": "receiver", "BAD_RECIPIENT": "recipient",
        "BAD_REFUND_ADDRESS": "refund address", "BAD_REFUND_MEMO": "refund memo",
        "BAD_REQUEST": "request", "BAD_SECRET": "secret", "BAD_TIME": "time",
        "BAD_TIMEOUT": "timeout", "BAD_TOKEN": "token", "BAD_WAIVER": "waiver",
        "NO_SUCH_MONTH": "month",
    },
    "NO_SUCH": {
        "NO_ACCOUNT": "account", "NO_ALLOWANCE": "allowance", "NO_DELIVERY": "delivery",
        "NO_GROUP": "group", "NO_ROW": "row", "NO_SUCH_CHAIN": "chain",
        "NO_SUCH_COMMAND": "command", "NO_SUCH_FAULT": "fault", "NO_SUCH_KEY": "key",
        "NO_SUCH_KIND": "kind", "NO_SUCH_PAGE": "page", "NO_SUCH_PARTNER": "partner",
        "NO_SUCH_PRESET": "preset", "NO_SUCH_PROFILE": "profile",
        "NO_SUCH_PROVIDER": "provider", "NO_TRANSACTION": "transaction",
        "QUOTE_NOT_FOUND": "quote", "TOKEN_NOT_FOUND": "token",
    },
    "NEEDS": {
        "NEEDS_CONFIRMATION": "confirmation", "NEEDS_DRY_RUN": "dry run", "NEEDS_KIND": "kind",
        "NEEDS_OUT": "file", "NEEDS_SECRET": "secret", "NEEDS_YES": "yes",
    },
    "AMBIGUOUS": {"AMBIGUOUS_ORDER": "order", "AMBIGUOUS_TOKEN": "token"},
    "WARNING": {
        "ADDRESS_WARNING": "address", "MEMO_WARNING": "memo", "TOKEN_WARNING": "token",
    },
    "DIFFERS": {
        "BUILD_DIFFERS": "bundle", "CHAIN_ID_DIFFERS": "chain", "GROUP_CHANGED": "group",
        "ORDER_DIFFERS": "order", "OWNER_DIFFERS": "account", "PASSPHRASES_DIFFER": "pass phrase",
        "QUOTE_DIFFERS": "quote", "TAPE_DIFFERS": "tape",
    },
    "EXPIRED": {"ORDERS_EXPIRED": "order", "QUOTE_EXPIRED": "quote"},
    "FAILED": {
        "APPROVAL_FAILED": "approval", "BUNDLE_FAILED": "bundle", "CASE_FAILED": "case",
        "DEMO_FAILED": "demonstration", "FUNDING_FAILED": "funding", "PART_FAILED": "part",
    },
    "DONE_BEFORE": {
        "CREATED_BEFORE": "batch", "PAID_BEFORE": "order", "SENT_BEFORE": "signatures",
    },
    "NOT_DONE": {
        "NOT_BUMPED": "higher fee", "NOT_CANCELLED": "cancellation", "NOT_FUNDED": "deposit",
        "NOT_REVOKED": "revocation", "NOT_SIGNED": "signature", "NOT_SUBMITTED": "submission",
        "NOT_WITHDRAWN": "withdrawal",
    },
}  # fmt: skip
"""Error codes that differ only in a noun. Maps each family to its codes, and each code to its
noun."""

_FAMILY_OF = {
    code: (family, noun) for family, nouns in FAMILIES.items() for code, noun in nouns.items()
}


def code_facts(
    code: str,
    exits: tuple[Exit, ...],
    means: str,
    money: str,
    next_: str,
    retry: Retry | None = None,
    status: int | None = None,
) -> ErrorCodeFacts:
    """Returns the facts of an error code. If ``retry`` is None, the first exit code decides whether
    a repetition helps."""
    family, noun = _FAMILY_OF.get(code, (code, ""))
    return ErrorCodeFacts(
        code,
        means,
        retry or exits[0].retry,
        money,
        next_,
        tuple(sorted(end.value for end in exits)),
        status,
        family,
        noun,
    )


OWN_CODES = {row[0]: code_facts(*row) for row in OWN_ROWS}


def missing_extra(
    what: str, packages: Sequence[str], extra: str, otherwise: str = ""
) -> CommandError:
    """Returns an error (exit 2) that says that ``what`` needs ``packages``, and how to install
    them. ``otherwise`` is what the user may do instead, or empty."""
    from swapdesk.installation import install

    return CommandError(
        Exit.BAD_INPUT,
        "MISSING_EXTRA",
        f"{what} needs {', '.join(packages)}. Install it: {install(extra)}",
        next=f"you: install the extra, {otherwise}" if otherwise else "you: install the extra",
    )


def of_error(error: Exception) -> CommandError | None:
    """Returns the CommandError for an error that another package raised; None for an unexpected
    error, which is a defect."""
    from swapdesk.client.credentials import CredentialsError
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.journal.journal_file import JournalUnavailable
    from swapdesk.flows.journal.journal_migration import JournalRefused
    from swapdesk.flows.quotes.quote_request import WishRefused
    from swapdesk.installation import extra_of
    from swapdesk.paths import NoHome, UnsafePlace
    from swapdesk.wallet.protocol import WalletError

    if isinstance(error, ClientError):
        return of_client_error(error)
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of(error.name or "")):
        return missing_extra("This command", [str(error.name)], extra)
    if isinstance(error, WalletError):
        return of_wallet_error(error)
    if isinstance(error, WishRefused):
        return bad_input("BAD_OPTION", error.message, field=error.field.replace(" ", "-"))
    if isinstance(error, NoHome):
        message = "This user has no home directory, and SWAPDESK_HOME names none."
        return bad_input("NO_HOME", message, field="home")
    if isinstance(error, UnsafePlace):
        return bad_input("UNSAFE_PLACE", f"{error}.", field="home")
    if isinstance(error, CredentialsError):
        return bad_input("CREDENTIALS", f"{error}.", field="profile")
    if isinstance(error, JournalUnavailable):
        return unusable_journal(str(error))
    if isinstance(error, JournalRefused):
        money = "where it was; every order stands in the journal"
        return CommandError(Exit.OWN_REFUSAL, error.code, str(error), money, error.next)
    return of_unusable_file(error)


_DISK = frozenset({3, 5, 6, 8, 10, 11, 13, 14, 26})
"""SQLite's error codes that are about the file, not the statement
(https://sqlite.org/rescode.html)."""


def of_unusable_file(error: Exception, *, money: str = "") -> CommandError | None:
    """Returns an error (exit 9) if ``error`` says that a file of the desk is unusable; otherwise
    None."""
    import sqlite3

    if isinstance(error, sqlite3.Error):
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _DISK:
            return None
        what, why = "A file of the desk", str(error)
    elif isinstance(error, OSError) and error.filename is not None:
        what, why = str(error.filename), error.strerror or type(error).__name__
    else:
        return None
    return CommandError(
        Exit.OWN_REFUSAL,
        "FILE_UNUSABLE",
        f"{what} cannot be used: {why}.",
        money,
    )


NOT_CREATED: dict[str, Exit] = {
    "NOT_CREATED": Exit.UNREACHABLE,
    "NOT_REACHABLE": Exit.UNREACHABLE,
    "NO_JOURNAL": Exit.OWN_REFUSAL,
    "ALREADY_ASKED": Exit.OWN_REFUSAL,
    "QUOTE_EXPIRED": Exit.OWN_REFUSAL,
    "OUTCOME_PENDING": Exit.UNKNOWN,
}
"""Exit codes by the desk's own error codes, for an order that was not created."""


def exit_of(error: ClientError) -> Exit:
    """Returns the exit code for a failed call. Code 8 means that the service may have carried it
    out; any other means that it did not."""
    from swapdesk.client import errors

    table: tuple[tuple[type[ClientError], Exit], ...] = (
        (errors.OutcomeUnknown, Exit.UNKNOWN),
        (errors.RequestRefused, Exit.BAD_INPUT),
        (errors.NotPaid, Exit.OWN_REFUSAL),
        (errors.RateLimited, Exit.RATE_LIMITED),
        (errors.NotFound, Exit.NOT_FOUND),
        (errors.ServiceFailed, Exit.UNREACHABLE),
        (errors.ApiError, Exit.REFUSED),
        (errors.Unreachable, Exit.UNREACHABLE),
        (errors.NoAnswer, Exit.UNREACHABLE),
        (errors.AnswerRefused, Exit.UNREACHABLE),
    )
    return next((end for kind, end in table if isinstance(error, kind)), Exit.DEFECT)


def exit_of_refused_create(code: str, error: ClientError | None) -> Exit:
    """Returns the exit code after the service or the desk refused to create an order. ``error`` is
    that of the failed call; None if no call failed."""
    from swapdesk.client.errors import ApiError, OutcomeUnknown

    if code in NOT_CREATED and not isinstance(error, ApiError):
        return NOT_CREATED[code]
    if error is None or isinstance(error, OutcomeUnknown):
        # Looked for afterwards and not there: it failed at the service.
        return Exit.UNREACHABLE
    return exit_of(error)


def of_client_error(error: ClientError, *, money: str = "") -> CommandError:
    from swapdesk.client import errors
    from swapdesk.flows.failure_messages import (
        ANSWER_REFUSED,
        OUTCOME_UNKNOWN,
        UNREACHABLE,
        failure_of,
        unsent,
        with_payment,
    )

    def ended(code: str, failure: Failure, more: str = "") -> CommandError:
        words = with_payment(failure, error)
        return CommandError(
            exit_of(error),
            code,
            f"{words.cause} {more}".strip(),
            money or words.money,
            words.next,
            getattr(error, "status", None),
            getattr(error, "request_id", None),
        )

    if isinstance(error, errors.RequestRefused):
        return CommandError(exit_of(error), "REQUEST_REFUSED", f"{error}.", money)
    if isinstance(error, errors.NotPaid):
        return ended(error.code, unsent(error))
    if isinstance(error, errors.OutcomeUnknown):
        return ended(error.code or "OUTCOME_UNKNOWN", OUTCOME_UNKNOWN)
    if isinstance(error, errors.AnswerRefused):
        return ended(f"ANSWER_{error.reason.upper()}", ANSWER_REFUSED, str(error))
    if not isinstance(error, errors.ApiError):
        reached = not isinstance(error, errors.Unreachable)
        return ended("NO_ANSWER" if reached else "NOT_REACHABLE", UNREACHABLE, str(error))
    code = error.code or f"HTTP_{error.status}"
    refused = ended(code, failure_of(code, error.status), error.message)
    if isinstance(error, errors.RateLimited) and error.retry_after is not None:
        refused.next = f"you: wait {error.retry_after:.0f} s"
    refused.fields = {name: {"message": problem.message} for name, problem in error.fields.items()}
    return refused


_WALLET_ENDS = {
    "BAD_REQUEST": Exit.BAD_INPUT,
    "WRONG_PASSPHRASE": Exit.BAD_INPUT,
    "UNSAFE_FILES": Exit.BAD_INPUT,
    "KEY_FILE": Exit.BAD_INPUT,
    "ACCOUNT_EXISTS": Exit.BAD_INPUT,
    "BAD_KEY": Exit.BAD_INPUT,
    "WALLET_MISSING": Exit.BAD_INPUT,
    "NO_ACCOUNT": Exit.NOT_FOUND,
    "NO_TRANSACTION": Exit.NOT_FOUND,
    "CHAIN_UNREACHABLE": Exit.UNREACHABLE,
    "AGENT_GONE": Exit.UNKNOWN,
    "DEFECT": Exit.DEFECT,
}
"""Exit codes by the wallet's error codes. Any other code exits with 9: the wallet refused."""


def of_wallet_error(error: WalletError, *, money: str = "") -> CommandError:
    """Returns the CommandError for an error of the wallet. If ``money`` is empty, the wallet's own
    text says where the money is."""
    from swapdesk.flows.wallet.wallet_words import failure_of_wallet

    failure = failure_of_wallet(error)
    end = _WALLET_ENDS.get(failure.code, Exit.OWN_REFUSAL)
    return CommandError(end, failure.code, failure.cause, money or failure.money, failure.next)
