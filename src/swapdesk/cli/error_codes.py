"""Every code that a command ends with: what it means, whether to try again, where the money is,
who acts next, and the exit code.

A command may say more of the case at hand; the code is what a program branches on. Codes of the
service, of calls and of the wallet come from the tables of those; all others stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from swapdesk.cli.command_error import CORRECT, UNMOVED, UNTOUCHED
from swapdesk.cli.exit_codes import MEANINGS, Exit
from swapdesk.cli.output import Form, Output


class Retry(StrEnum):
    """Whether the same command helps when it is given again."""

    YES = "yes"
    """Nothing was done, or what was done is not done twice."""
    LATER = "later"
    """Once a window of time, a transaction or another desk is over."""
    CORRECTED = "corrected"
    """After ``next`` was done; the same again ends the same way."""
    NO = "no"
    """Look first: something may have happened, or the command did its work."""


class ErrorCodeFacts(Struct, frozen=True):
    """``exits`` are exit codes; several where the same thing is found at several places. ``status``
    is that of the service's answer."""

    code: str
    means: str
    retry: Retry
    money: str
    next: str
    exits: tuple[int, ...]
    status: int | None = None


class ExitFacts(Struct, frozen=True):
    """An exit code."""

    exit: int
    means: str


class ErrorsDocument(Struct, frozen=True):
    """Every code, and every exit code."""

    codes: tuple[ErrorCodeFacts, ...]
    exits: tuple[ExitFacts, ...]


RETRY_OF: dict[Exit, Retry] = {
    Exit.DEFECT: Retry.NO,
    Exit.BAD_INPUT: Retry.CORRECTED,
    Exit.THRESHOLD: Retry.YES,
    Exit.REFUSED: Retry.CORRECTED,
    Exit.NOT_FOUND: Retry.CORRECTED,
    Exit.RATE_LIMITED: Retry.LATER,
    Exit.UNREACHABLE: Retry.YES,
    Exit.UNKNOWN: Retry.NO,
    Exit.OWN_REFUSAL: Retry.CORRECTED,
    Exit.ENDED_OTHERWISE: Retry.NO,
    Exit.NOT_WRITTEN: Retry.NO,
    Exit.INTERRUPTED: Retry.YES,
}
"""Where a code does not say otherwise."""

JOURNAL = "where the journal says"
SANDBOX = "in the sandbox, which has none that is real"
UNPAID = "in your wallet; nothing was paid"
IN_SMART = "in your wallet and your smart account; no deposit was paid"
ON_ITS_WAY = "with the transaction: where the chain says"
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

Row = tuple[str, tuple[Exit, ...], str, str, str]

_OF_INPUT: tuple[Row, ...] = (
    ("USAGE", _BAD, "The command line cannot be read.", UNTOUCHED, CORRECT),
    ("CONFIG", _BAD, "The configuration is wrong.", UNTOUCHED, "you: correct the configuration"),
    ("CREDENTIALS", _BAD, "The key or secret of the profile cannot be used.", UNTOUCHED,
     "you: correct the credentials"),
    ("NOT_CONFIGURED", _BAD, "The profile names no service or no key.", UNTOUCHED,
     "you: configure the profile"),
    ("NO_SUCH_PROFILE", _BAD, "There is no profile of that name.", UNTOUCHED, CORRECT),
    ("UNSAFE_PLACE", _BAD, "The home of the desk is open to other users.", UNTOUCHED,
     "you: put its files right; swapdesk doctor says how"),
    ("MISSING_EXTRA", _BAD, "What this command needs is not installed.", UNTOUCHED,
     "you: install the extra that the message names"),
    ("NO_TERMINAL", _BAD, "The desk needs a terminal that it can draw on.", UNTOUCHED,
     "you: open it in a terminal, or use commands"),
    ("SANDBOX_ONLY", (Exit.BAD_INPUT, Exit.OWN_REFUSAL),
     "This works in the sandbox alone, and the profile is live.", UNTOUCHED, CORRECT),
    ("ONLY_SANDBOX", _BAD, "Nothing is named that could be served.", UNTOUCHED,
     "you: add --sandbox or --config"),
    ("VENUES_MISSING", _BAD, "Venues of the file need what is not there.", UNTOUCHED,
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
    ("BAD_FAULT", _BAD, "The fault cannot be set so.", UNMOVED, CORRECT),
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
    ("BAD_SCENARIO", _BAD, "The file of cases cannot be used.", UNMOVED, CORRECT),
    ("BAD_LIMIT", _BAD, "A limit or a price is not written as TOKEN.CHAIN=AMOUNT.", UNTOUCHED,
     CORRECT),
    ("NOTHING_GIVEN", _BAD, "Nothing was given that could be set.", UNTOUCHED, CORRECT),
    ("BAD_TIME", _BAD, "The text is no date and no time.", UNTOUCHED, CORRECT),
    ("BAD_TOKEN", _BAD, "A token is not written as TOKEN.CHAIN.", UNTOUCHED, CORRECT),
    ("BAD_TIMEOUT", _BAD, "The timeout is no time.", UNMOVED, CORRECT),
    ("BAD_WAIVER", _BAD, "A memo is waived by its sentence alone.", UNTOUCHED, CORRECT),
    ("AMBIGUOUS", _BAD, "Several things fit; the message names them.", UNTOUCHED, CORRECT),
    ("AMBIGUOUS_ORDER", _BAD, "Several orders fit; fields has the candidates.", UNMOVED, CORRECT),
    ("AMBIGUOUS_TOKEN", _BAD, "The symbol stands on several chains; fields has the candidates.",
     UNTOUCHED, CORRECT),
    ("TWO_CHOICES", _BAD, "Two options choose the same thing.", UNTOUCHED, CORRECT),
    ("QUOTE_DIFFERS", _BAD, "The quote is for something else than the command says.", UNTOUCHED,
     CORRECT),
    ("NOT_ON_CHAIN", _BAD, "The route is paid by a deposit; there is nothing to sign.", UNTOUCHED,
     CORRECT),
    ("NO_SUCH_PROVIDER", _BAD, "No usable route is of that provider.", UNTOUCHED, CORRECT),
    ("NO_SUCH_CHAIN", _BAD, "The chain is not known, or nothing here works on it.", UNTOUCHED,
     CORRECT),
    ("NO_SUCH_FAULT", _BAD, "There is no fault of that name.", UNMOVED,
     "you: swapdesk trigger list names them"),
    ("NO_SUCH_KIND", _BAD, "A kind of facts to show is not known.", UNMOVED, CORRECT),
    ("NO_SUCH_COMMAND", _BAD, "There is no command of that name with a document.", UNTOUCHED,
     "you: swapdesk commands names them"),
    ("NO_SCHEMA", _BAD, "The command prints no document of this program.", UNTOUCHED, CORRECT),
    ("NO_NODES", (Exit.BAD_INPUT, Exit.OWN_REFUSAL), "No node of the chain is configured.",
     UNTOUCHED, "you: name a node under rpc"),
    ("NO_GROUP", _BAD, "The batch has no group of that number.", UNMOVED, CORRECT),
    ("NO_FILE", _BAD, "No file is named, or it cannot be read.", UNTOUCHED, CORRECT),
    ("NO_MOMENTS", _BAD, "The file holds no moments of a tape.", SANDBOX, CORRECT),
    ("NO_CASE_FILE", _BAD, "The file is no support case.", UNMOVED, CORRECT),
    ("NOTHING_TO_LOOK_UP", _BAD, "Nothing in the text leads to an order.", UNMOVED, CORRECT),
    ("NOT_FAILED", _BAD, "The order does not need anybody, so it is not put away.",
     "where the order says", "nobody: nothing is to be done"),
    ("WRONG_CHAIN", _BAD, "The account is of another chain.", UNTOUCHED, CORRECT),
    ("FILE", _BAD, "The file cannot be written.", UNMOVED, CORRECT),
    ("FILE_EXISTS", _BAD, "There is a file of that name, and it is not replaced.", UNMOVED,
     CORRECT),
    ("BAD_RECEIVER", _BAD, "The address cannot be posted to.", UNTOUCHED, CORRECT),
    ("BAD_CONVERSATION", _BAD, "The file is no recorded conversation.", UNTOUCHED, CORRECT),
    ("NO_DELIVERY", _BAD, "The journal has no state of that id.", UNTOUCHED, CORRECT),
    ("NO_SUCH_MONTH", _BAD, "The text is no month.", UNMOVED, CORRECT),
    ("NO_SUCH_PARTNER", _BAD, "The service has no such partner.", UNMOVED, CORRECT),
    ("NO_SUCH_KEY", _BAD, "No partner of the service has this key.", UNMOVED, CORRECT),
    ("NAME_TAKEN", _BAD, "Another partner has this name.", UNMOVED, CORRECT),
    ("BAD_NAME", _BAD, "The text is no name of a partner.", UNMOVED, CORRECT),
    ("BAD_ORIGIN", _BAD, "The text is no origin of a page, or not on the list.", UNMOVED,
     CORRECT),
    ("CANNOT_SHOW", _BAD, "The demonstration cannot be shown with these words.", UNMOVED, CORRECT),
    ("BATCH_PROBLEMS", _BAD, "Rows of the file cannot be created; the plan names them.",
     UNTOUCHED, "you: correct the file"),
    ("CELL", _BAD, "A cell of the file is too long.", UNTOUCHED, "you: shorten it"),
    ("COLUMN_MISSING", _BAD, "The file has not all columns.", UNTOUCHED,
     "you: swapdesk batch template writes them"),
    ("COLUMN_TWICE", _BAD, "A column stands twice in the file.", UNTOUCHED, "you: keep one"),
    ("DECIMAL_COMMA", _BAD, "An amount can be read in two ways.", UNTOUCHED,
     "you: write it without the point"),
    ("EMPTY", _BAD, "The file has no rows.", UNTOUCHED, "you: write a row for each recipient"),
    ("ENCODING", _BAD, "The file is not UTF-8.", UNTOUCHED, "you: save it as CSV in UTF-8"),
    ("QUOTES", _BAD, "The quotes of the file are not closed.", UNTOUCHED, CORRECT),
    ("SEPARATOR", _BAD, "The file has no columns.", UNTOUCHED, CORRECT),
    ("TOO_LARGE", _BAD, "The file is too large.", UNTOUCHED, "you: split it"),
    ("TOO_MANY_ROWS", _BAD, "The file has too many rows.", UNTOUCHED, "you: split it"),
)  # fmt: skip

_OF_CREATING: tuple[Row, ...] = (
    ("TOKEN_NOT_FOUND", (Exit.NOT_FOUND, Exit.OWN_REFUSAL), "The token is not known.", UNTOUCHED,
     "you: choose another token, or give its contract address"),
    ("TOKEN_DISABLED", (Exit.NOT_FOUND, Exit.OWN_REFUSAL),
     "This token or its chain is disabled at the moment.", UNTOUCHED,
     "you: choose another token, or wait"),
    ("TOKEN_REFUSED", _OWN, "The desk does not use this token.", UNTOUCHED,
     "you: choose another token"),
    ("TOKEN_WARNING", _OWN, "Something is to be known of this token.", UNTOUCHED,
     "you: add --accept-warnings once you have read it"),
    ("ADDRESS_REFUSED", _OWN, "The desk does not pay to this address.", UNTOUCHED,
     "you: check the recipient"),
    ("LOOKALIKE_ADDRESS", _OWN, "The address looks like one that was paid before.", UNTOUCHED,
     "you: compare the whole address"),
    ("MEMO_WARNING", _OWN, "The recipient may need a memo.", UNTOUCHED,
     "you: give the memo, or waive it"),
    ("QUOTE_NOT_FOUND", _NOT_FOUND, "The quote was not shown here within the last hour.",
     UNTOUCHED, QUOTES),
    ("NO_SUCH_PRESET", _NOT_FOUND, "The desk keeps no preset of that name.", UNTOUCHED, CORRECT),
    ("NO_USABLE_ROUTE", _REFUSED, "No route takes this.", UNTOUCHED,
     "you: another amount, token or route"),
    ("MAX_LOSS", (Exit.THRESHOLD,), "More value would be lost than --max-loss allows.", UNTOUCHED,
     "you: try again, or allow more"),
    ("MIN_OUT", (Exit.THRESHOLD,), "Less would arrive than --min-out asks for.", UNTOUCHED,
     "you: try again, or ask for less"),
    ("QUOTE_UNUSABLE", _OWN, "The quote cannot be used.", UNTOUCHED, QUOTES),
    ("QUOTE_EXPIRED", _OWN, "The quote ended.", UNTOUCHED, QUOTES),
    ("NOT_CONFIRMABLE", _OWN, "What would be created does not fit together.", UNTOUCHED, QUOTES),
    ("NOT_CONFIRMED", (Exit.OWN_REFUSAL, Exit.INTERRUPTED), "A person said no, or nothing.",
     UNTOUCHED, "you: give the command again"),
    ("CLOCK_SKEW", _FAR, "The clocks of machine and service differ by over two minutes.",
     UNTOUCHED, "you: set the clock of this machine"),
    ("ALREADY_ASKED", _OWN, "This confirmation was used before.", JOURNAL,
     "you: look at swapdesk orders list"),
    ("NOT_CREATED", (Exit.UNREACHABLE, Exit.OWN_REFUSAL), "The service shows no such order.",
     UNPAID, QUOTES),
    ("OUTCOME_UNKNOWN", _OPEN, "No answer says whether it was done.", UNPAID,
     "the desk: it looks for the order before anything is tried again"),
    ("OUTCOME_PENDING", _OPEN, "The same payment was asked before, and nobody knows its outcome.",
     UNPAID, "the desk: it looks for the first order"),
    ("ORDER_DIFFERS", _OWN, "The order is not what was confirmed; its address is not shown.",
     UNPAID, "you: do not pay this order; ask for new quotes"),
    ("NOT_REPEATED", _OWN, "The service has yet to repeat where to pay.", UNPAID,
     "the service; swapdesk orders show asks again"),
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
    ("FILE_UNUSABLE", _OWN, "A file of the desk cannot be read or written.", JOURNAL,
     "you: make room, or let this user write there"),
    ("READ_ONLY", _OWN, "This desk only reads, or another desk has the wallet.", UNTOUCHED,
     "whoever may write: a profile with a key, or the other desk"),
)  # fmt: skip

_OF_SIGNING: tuple[Row, ...] = (
    ("NOT_PAYABLE", _OWN, "The wallet cannot pay this order.", UNPAID,
     "you: send it from a wallet of that chain"),
    ("PAID_BEFORE", _OWN, "The order was paid before, or may have been.",
     "with the payment that there is", "the venue; swapdesk orders show tells how it stands"),
    ("NOT_PAID", _OWN, "Calls are paid one by one, in no way that is known here.", UNTOUCHED,
     "you: look at what the service asks for; nothing was signed"),
    ("NO_NODE", _OWN, "No node of the chain is configured on which calls are paid.", UNTOUCHED,
     "you: name its node under rpc of this profile"),
    ("NOT_ENOUGH", _OWN, "The account has not enough for this and its gas.", UNPAID,
     "you: fill the account"),
    ("NOT_SENT", _OPEN, "It was signed, and no node took it yet.", JOURNAL, WAIT),
    ("NOT_SEEN_YET", _OPEN, "The service has not seen the transaction yet.", ON_ITS_WAY, SHOW),
    ("NOT_FINAL", _OPEN, "It is on a chain and not final yet.", ON_ITS_WAY, WAIT),
    ("ON_ITS_WAY", _OPEN, "What was signed is on its way.", ON_ITS_WAY, WAIT),
    ("BLOCKHASH_OLD", _OWN, "The transaction was not sent in time; it paid nobody.", UNPAID, WAIT),
    ("TAKEN_BACK", _OWN, "The payment was taken back before it left.", UNPAID, SHOW),
    ("TOO_LATE", _OWN, "The transaction of the order was not sent in time.", UNPAID, QUOTES),
    ("FAILED", (Exit.OWN_REFUSAL, Exit.ENDED_OTHERWISE),
     "The transaction was executed and failed; it moved nothing but its gas.", UNPAID,
     "you: look at the order: swapdesk orders show"),
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
    ("WALLET", _OPEN, "The wallet could not go on.", JOURNAL, WAIT),
    ("NOT_REVOKED", _OWN, "The allowance was not ended.", UNTOUCHED, "you: give the command again"),
    ("REVERTED", _ENDED, "The transaction that was to take the place was executed in vain.",
     "in your wallet; gas was paid", "you: swapdesk wallet transactions shows both"),
    ("NOT_BUMPED", _OWN, "The first transaction stands as it is.", ON_ITS_WAY,
     "you: swapdesk wallet transactions shows it"),
    ("NOT_CANCELLED", _OWN, "The first transaction was executed, or cannot be taken back.",
     ON_ITS_WAY, "you: swapdesk wallet transactions shows it"),
    ("STILL_WAITING", _OPEN, "Both transactions wait; one of them will be executed.", ON_ITS_WAY,
     WAIT),
    ("UNDECIDED", _OPEN, "Both transactions wait; one of them will be executed.", ON_ITS_WAY, WAIT),
    ("NOTHING_HELD", _NOT_FOUND, "The smart account holds nothing of it.",
     "where it was; nothing was sent", "nobody: nothing is to be done"),
    ("NEEDED_BY_BUNDLE", _OWN, "A bundle needs what the smart account holds.",
     "in your smart account", STATUS),
    ("NOT_WITHDRAWN", (Exit.OWN_REFUSAL, Exit.ENDED_OTHERWISE), "Nothing was taken out.",
     "in your smart account", "you: give the command again"),
    ("NO_ACCOUNT", _NOT_FOUND, "The wallet has no such account.", UNTOUCHED,
     "you: swapdesk wallet list shows the accounts"),
    ("NO_ALLOWANCE", _NOT_FOUND, "There is no such allowance.", UNTOUCHED,
     "you: swapdesk wallet allowances lists them"),
    ("UNREAD", _FAR, "A chain could not be read.", "what is there stays there", "you: try again"),
)  # fmt: skip

_OF_BATCHES: tuple[Row, ...] = (
    ("CREATED_BEFORE", _OWN, "The same rows are a batch already.", JOURNAL, STATUS),
    ("NO_FAILED_ROWS", _OWN, "No row of the batch is known to have failed.", JOURNAL, STATUS),
    ("NOT_BEGUN", _OWN, "Nothing was interrupted, and nothing is signed.", UNPAID, STATUS),
    ("NOT_YET", _OWN, "A step before this one is due.", JOURNAL, STATUS),
    ("OWNED", _OWN, "Another desk works on this batch.", JOURNAL,
     "the other desk; you: close it to go on here"),
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
     STATUS),
    ("NO_BUNDLE", _OWN, "The service has no bundle that awaits these signatures.", IN_SMART,
     STATUS),
    ("SENT_BEFORE", _OWN, "These signatures left before.", JOURNAL, STATUS),
    ("UNKNOWN_STATUS", _OWN, "The service says of the bundle what is not known.", JOURNAL, STATUS),
    ("BUNDLE_FAILED", _ENDED, "The bundle was executed and failed.", IN_SMART, STATUS),
    ("WITHDRAWN", _ENDED, "The bundle was withdrawn.", IN_SMART, STATUS),
)  # fmt: skip

_OF_ALL: tuple[Row, ...] = (
    ("TIMEOUT", (Exit.THRESHOLD,), "The orders did not end in time.", "where the last line says",
     "you: watch again; the orders go on without it"),
    ("SECRET_PASTED", _OWN, "The text holds a key or a phrase.",
     "where the secret gives access to it, and nowhere safe",
     "the owner: move the money to a new wallet"),
    ("SANDBOX_NOT_READY", (Exit.BAD_INPUT, Exit.UNREACHABLE), "The sandbox did not start.",
     UNTOUCHED, "you: try again; its log says more"),
    ("SANDBOX_REFUSED", (Exit.BAD_INPUT, Exit.UNREACHABLE), "The sandbox refused to start.",
     UNTOUCHED, CORRECT),
    ("REFUSED", (Exit.REFUSED, Exit.NOT_FOUND), "The sandbox refused.", UNMOVED,
     "you: choose another target, or an order that is not so far yet"),
    ("CASE_FAILED", _OWN, "A case does not come about; those before it stay.",
     "the sandbox's; nothing here is real", "you: correct the file"),
    ("NO_STORE", _NOT_FOUND, "No service has run on this data.", UNMOVED,
     "you: swapdesk serve --sandbox, or name its directory with --data"),
    ("STORE_UNUSABLE", _OWN, "The store of the service cannot be used.", UNMOVED,
     "you: start the swapdesk that wrote it"),
    ("NOTHING_DUE", _OWN, "There is nothing to be booked.", UNMOVED, CORRECT),
    ("NOT_TAKEN", _FAR, "The receiver did not take the delivery.", UNTOUCHED,
     "you: look at the receiver, then send it again"),
    ("DEMO_FAILED", _REFUSED, "The demonstration could not be carried out.", UNMOVED,
     "you: choose another amount, token or seed"),
    ("TAPE_REFUSED", (Exit.BAD_INPUT,), "The file is no tape, or gives a secret.", SANDBOX,
     "you: correct the tape"),
    ("NEVER_CAME", (Exit.THRESHOLD,), "A text that the tape waits for never came.", SANDBOX,
     "you: correct the tape, or give it more patience"),
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

_RETRY: dict[str, Retry] = {
    **dict.fromkeys(
        ("NOT_REPEATED", "ON_ITS_WAY", "NOT_FINAL", "NOT_SENT", "NOT_SEEN_YET", "STILL_WAITING",
         "UNDECIDED", "OWNED", "NOT_YET", "UNRESOLVED", "TOKEN_DISABLED"),
        Retry.LATER,
    ),
    **dict.fromkeys(
        ("ALREADY_ASKED", "ORDER_DIFFERS", "PAID_BEFORE", "SECRET_PASTED", "CREATED_BEFORE",
         "SENT_BEFORE", "ALREADY_SUBMITTED", "NOT_FAILED"),
        Retry.NO,
    ),
    **dict.fromkeys(
        ("AGENT_GONE", "BLOCKHASH_OLD", "DEMO_FAILED", "NOT_REVOKED", "NOT_WITHDRAWN",
         "NOT_SUBMITTED", "STALE_REVIEW", "WALLET"),
        Retry.YES,
    ),
    "TIMEOUT": Retry.YES,
    "CLOCK_SKEW": Retry.CORRECTED,
    "NEVER_CAME": Retry.CORRECTED,
}  # fmt: skip
"""Codes that their exit says too little of."""

OWN_ROWS = (*_OF_INPUT, *_OF_CREATING, *_OF_SIGNING, *_OF_BATCHES, *_OF_ALL)


def error_codes() -> tuple[ErrorCodeFacts, ...]:
    """Every code once, in the sequence of the alphabet. What the desk and the service both call
    by one name has the desk's words and the exits of both."""
    found: dict[str, ErrorCodeFacts] = {}
    for one in (*_own(), *_of_calls(), *_of_service(), *_of_wallet(), *_of_rules()):
        known = found.get(one.code)
        if known is None:
            found[one.code] = one
        else:
            exits = tuple(sorted({*known.exits, *one.exits}))
            status = known.status if known.status is not None else one.status
            found[one.code] = ErrorCodeFacts(
                known.code, known.means, known.retry, known.money, known.next, exits, status
            )
    return tuple(found[code] for code in sorted(found))


def _own() -> Iterator[ErrorCodeFacts]:
    for code, exits, means, money, next_ in OWN_ROWS:
        yield _facts(code, exits, means, money, next_)


def _facts(
    code: str,
    exits: tuple[Exit, ...],
    means: str,
    money: str,
    next_: str,
    status: int | None = None,
) -> ErrorCodeFacts:
    retry = _RETRY.get(code, RETRY_OF[exits[0]])
    return ErrorCodeFacts(
        code, means, retry, money, next_, tuple(sorted(one.value for one in exits)), status
    )


def _of_service() -> Iterator[ErrorCodeFacts]:
    from swapdesk.cli.command_error import of_client_error
    from swapdesk.client.errors import Refusal, api_error
    from swapdesk.wire.errors import STATUS_OF

    for code, status in STATUS_OF.items():
        told = of_client_error(api_error(Refusal(status, code)))
        yield _facts(str(code), (told.exit,), told.message, told.money, told.next, status)


def _of_calls() -> Iterator[ErrorCodeFacts]:
    """Of one error of each kind."""
    from swapdesk.cli.command_error import of_client_error
    from swapdesk.client import errors as client

    kinds = (
        client.RequestRefused("The request cannot be made"),
        client.Unreachable(""),
        client.NoAnswer(""),
        *(
            client.AnswerRefused("", reason, client.Answered(200))
            for reason in client.ANSWER_REASONS
        ),
    )
    for error in kinds:
        told = of_client_error(error)
        yield _facts(told.code, (told.exit,), told.message.strip(), told.money, told.next)


def _of_wallet() -> Iterator[ErrorCodeFacts]:
    from swapdesk.cli.wallet_session import of_wallet_error
    from swapdesk.wallet.errors import AgentGone, AgentMissing, Refused
    from swapdesk.wallet.protocol import REFUSALS

    words = (
        *((Refused(code, means), means) for code, means in REFUSALS.items()),
        (AgentMissing(""), "No process with the keys could be started."),
        (AgentGone(""), "The process with the keys ended or cannot be understood."),
    )
    for error, means in words:
        told = of_wallet_error(error)
        yield _facts(told.code, (told.exit,), means, told.money, told.next)


def _of_rules() -> Iterator[ErrorCodeFacts]:
    from swapdesk.flows.failure_messages import policy_next
    from swapdesk.wallet.rule_codes import PAYLOADS, RULES, SPENDING

    for code, holds in RULES.items():
        yield _facts(code, _OWN, f"The wallet refuses, unless {holds}.", UNPAID, REVIEW)
    for code, why in PAYLOADS.items():
        yield _facts(code, _OWN, f"The wallet refuses: {why}.", UNPAID, REVIEW)
    for code, why in SPENDING.items():
        said = f"Your spending policy refuses: {why}."
        yield _facts(code, _OWN, said, UNPAID, policy_next(code))


def report_errors(output: Output) -> None:
    found = error_codes()
    if output.json:
        exits = (ExitFacts(end.value, said) for end, said in MEANINGS.items())
        output.document(ErrorsDocument(found, tuple(exits)))
        return
    rows = [
        (
            one.code,
            " or ".join(map(str, one.exits)),
            one.retry,
            one.means,
            one.money,
            one.next,
        )
        for one in found
    ]
    output.table(("code", "exit", "again", "means", "money", "next"), rows)
    if output.form is Form.TABLE:
        output.talk(*(f"Exit {end.value}: {said}." for end, said in MEANINGS.items()))
