"""Messages for failures of the service and the desk: what happened, where the money is, who acts
next. Messages use exact numbers; they blame nobody and promise nothing."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from swapdesk.client.errors import QUOTE_EXPIRED, ClientError, NotPaid, PaymentRequired
from swapdesk.wallet.spending import RULE
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.errors import ErrorCode

Level = Literal["waiting", "moving", "done", "trouble", "back", "expired"]
"""The level of a state, which selects the glyph and colour beside the state's word."""


class Failure(Struct, frozen=True):
    """A failure as shown: its cause, where the money is, and who acts next. ``code`` is stable, for
    scripts; it may be empty."""

    cause: str
    money: str
    next: str
    code: str = ""


IN_WALLET = "in your wallet"
NOTHING_SENT = "in your wallet; nothing was sent"
NOTHING_PAID = "in your wallet; nothing was paid"
NEW_QUOTES = "you: ask for new quotes"
MAY_WRITE = "whoever has a profile with a key that may write"
"""Text that says who acts next if this desk may only read."""

QUOTE_ENDED = Failure("This quote ended.", IN_WALLET, NEW_QUOTES)

FAILURES: dict[str, Failure] = {
    ErrorCode.BAD_REQUEST: Failure(
        "The service could not read the request.", NOTHING_SENT, "you: report this with the id"
    ),
    ErrorCode.INVALID_API_CREDENTIALS: Failure(
        "The service does not accept this key.", NOTHING_SENT, "you: check key and secret"
    ),
    ErrorCode.PARTNER_ID_NOT_SUPPORTED: Failure(
        "This needs an API key; partner-id alone is read-only.",
        NOTHING_SENT,
        "you: configure a key for this profile",
    ),
    ErrorCode.ACCESS_DENIED: Failure(
        "This key may not do that.", NOTHING_SENT, "you: use another key or ask the service"
    ),
    ErrorCode.NOT_FOUND: Failure(
        "The service does not know this id, or it is older than 48 hours.",
        "where the journal of this desk last saw it",
        "you: look in the journal with orders list",
    ),
    ErrorCode.TOKEN_NOT_FOUND: Failure(
        "The service does not know this token.", IN_WALLET, "you: choose another token"
    ),
    ErrorCode.TOKEN_DISABLED: Failure(
        "This token or its chain is disabled at the moment.",
        IN_WALLET,
        "you: choose another token, or wait",
    ),
    ErrorCode.VALIDATION_ERROR: Failure(
        "The service refused an input.", NOTHING_SENT, "you: correct the named field"
    ),
    ErrorCode.AMOUNT_TOO_LOW: Failure(
        "The amount is below the smallest one any route takes.",
        IN_WALLET,
        "you: type a larger amount",
    ),
    ErrorCode.QUOTE_OVER_LIMIT: Failure(
        "The amount is above the largest one any route takes.",
        IN_WALLET,
        "you: type a smaller amount",
    ),
    ErrorCode.INVALID_SWAP: Failure("This quote ended or cannot be used.", IN_WALLET, NEW_QUOTES),
    ErrorCode.RATE_LIMIT_EXCEEDED: Failure(
        "The calls of this window are used up.", IN_WALLET, "you: wait for the window to reset"
    ),
    ErrorCode.INTERNAL_SERVER_ERROR: Failure(
        "The service had an internal error.",
        IN_WALLET,
        "you: try again, or send the service the request id",
    ),
    ErrorCode.PROVIDER_EXCHANGE_FAILED: Failure(
        "No exchange accepted the order.", IN_WALLET, NEW_QUOTES
    ),
    ErrorCode.SERVICE_UNAVAILABLE: Failure(
        "The service cannot answer right now.", IN_WALLET, "you: try again in a minute"
    ),
    "FIXED_RATE_NOT_ALLOWED": Failure(
        "This account may not use fixed rates.", IN_WALLET, "you: take a floating rate"
    ),
    "FIXED_RATE_QUOTE_EXPIRED": Failure(
        "The fixed rate ended before the order was made.", IN_WALLET, NEW_QUOTES
    ),
    QUOTE_EXPIRED: QUOTE_ENDED,
    "ADDRESS_TO_IN_DEPOSIT_LOG": Failure(
        "The recipient is the deposit address of an order: what arrives there pays that order.",
        NOTHING_SENT,
        "you: ask the recipient for an address of their own",
    ),
    "ALREADY_SUBMITTED": Failure(
        "This was submitted before.", "with the first submission", "the service"
    ),
    "STATIC_DEPOSIT_IN_USE": Failure(
        "The exchange has no free deposit address for this route.",
        IN_WALLET,
        "you: take another route, or wait",
    ),
}

_BY_STATUS: dict[int, ErrorCode] = {
    400: ErrorCode.BAD_REQUEST,
    401: ErrorCode.INVALID_API_CREDENTIALS,
    403: ErrorCode.ACCESS_DENIED,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.BAD_REQUEST,
    409: ErrorCode.INVALID_SWAP,
    413: ErrorCode.BAD_REQUEST,
    415: ErrorCode.BAD_REQUEST,
    422: ErrorCode.VALIDATION_ERROR,
    429: ErrorCode.RATE_LIMIT_EXCEEDED,
    500: ErrorCode.INTERNAL_SERVER_ERROR,
    502: ErrorCode.SERVICE_UNAVAILABLE,
    503: ErrorCode.SERVICE_UNAVAILABLE,
}

UNREACHABLE = Failure("The service cannot be reached.", NOTHING_SENT, "you: try again")
OUTCOME_UNKNOWN = Failure(
    "The service did not answer. It may have created the order.",
    NOTHING_PAID,
    "the desk: it looks for the order before anything is tried again",
)
NOT_CREATED = Failure(
    "The service shows no such order.",
    NOTHING_PAID,
    NEW_QUOTES,
)
ANSWER_REFUSED = Failure(
    "The answer of the service could not be used.", IN_WALLET, "you: try again or report it"
)
NO_JOURNAL = Failure(
    "The journal cannot be written, so nothing is sent.",
    NOTHING_SENT,
    "you: make room or mend the file",
)
IN_DESK = "or w and m in an open desk"
"""Keys that replace a wallet command, which an open desk, holding the wallet, refuses."""
_POLICY_NEXT = f"you: pay less, wait, or raise it with swapdesk wallet policy set, {IN_DESK}"
POLICY_ANEW = f"you: swapdesk wallet policy set --anew, with every rule that you want, {IN_DESK}"
"""Who acts next if the file of the spending policy is not the policy that was set."""
POLICY_CALL = (
    "you: look at what the service asks for, or raise it with swapdesk wallet policy set"
    f" --per-call, {IN_DESK}"
)
"""Text that says who acts next if a call costs more than the spending policy allows."""

CALL_PAYEE = f"swapdesk wallet policy set --call-payee, {IN_DESK}"
_NEXT_OF_RULE = {
    "CALL_PAYEE_CHANGED": f"you: agree in a terminal, or name it: {CALL_PAYEE}",
    "FUNDS_MISSING": "you: fill the account",
    "POLICY_CHANGED": POLICY_ANEW,
    "POLICY_DECIMALS": POLICY_ANEW,
    "POLICY_NEEDED": f"you: swapdesk wallet policy set --per-day usdc.base=1, {IN_DESK}",
    "POLICY_CALL": POLICY_CALL,
    "POLICY_CALL_PAYEE": f"you: look at what the service asks for, or name it: {CALL_PAYEE}",
}


def rule_next(rule: str, otherwise: str) -> str:
    """Returns who acts next after the wallet refused to sign because of ``rule``. Returns
    ``otherwise`` if the rule does not concern the spending policy or missing funds."""
    return _NEXT_OF_RULE.get(rule, _POLICY_NEXT if rule.startswith(RULE) else otherwise)


UNPAID_CALL = Failure(
    "The service wants to be paid for each call.",
    NOTHING_SENT,
    'you: configure a key, or pay = "x402" with a spending policy',
)
ALREADY_ASKED = Failure(
    "This confirmation was already used.", "where the journal says", "you: look at orders"
)
OUTCOME_PENDING = Failure(
    "The same payment was asked before and its outcome is not known yet.",
    NOTHING_PAID,
    "the desk: it looks for the first order; see orders",
)
OUTCOME_NOT_WRITTEN = Failure(
    "The request left, and the journal could not take what became of it.",
    NOTHING_PAID,
    "you: make room for the journal and start again; the desk then looks for the order",
)
CLOCK_IS_WRONG = Failure(
    "The clock of this machine and the service's differ by more than two minutes.",
    NOTHING_SENT,
    "you: set the clock of this machine",
)


def unsent(error: ClientError) -> Failure:
    """Returns the message for a call that failed before it reached the service, or because it was
    not paid for."""
    if isinstance(error, NotPaid):
        return Failure(f"The call was not paid: {error}.", NOTHING_SENT, error.next)
    return with_payment(UNREACHABLE, error)


_PAYMENT_REFUSED = "The service did not take the payment that was signed for this call."


def with_payment(failure: Failure, error: ClientError) -> Failure:
    """Returns ``failure`` and, if a payment was sent with the call, a warning: the payee may take
    the money until the payment expires, whatever the service answered."""
    if error.payment is None:
        return failure
    refused = isinstance(error, PaymentRequired)
    again = refused or failure.next.startswith("you: try again")
    return Failure(
        _PAYMENT_REFUSED if refused else failure.cause,
        money_with_payment(failure.money, error),
        "you: look at the chain; to ask again is to pay again" if again else failure.next,
    )


_SHOWN = {
    True: "the chain shows that it was taken",
    False: "the chain does not show that it was taken so far",
    None: "whether it was taken is not known",
}


def money_with_payment(money: str, error: ClientError) -> str:
    """Returns the text ``money``, which says where the money is after a failed call. If a payment
    was signed for the call, adds what its payee can take, and until when."""
    payment = error.payment
    if payment is None:
        return money
    rest = money.removesuffix("; nothing was sent")
    rest = rest.replace("nothing was paid", "no deposit was paid")
    return (
        f"{rest}; {payment.amount} {payment.symbol} was signed for the call, which {payment.payee}"
        f" can take until {rfc3339(payment.ends)}, and {_SHOWN[payment.taken]}"
    )


def failure_of(code: str, status: int | None) -> Failure:
    """Returns the message for an error code of the service or, if that is unknown, for the HTTP
    status."""
    if code in FAILURES:
        return FAILURES[code]
    if status == 402:
        return UNPAID_CALL
    if status is not None:
        server = ErrorCode.INTERNAL_SERVER_ERROR if status >= 500 else None
        known = _BY_STATUS.get(status, server)
        if known is not None:
            return FAILURES[known]
    return ANSWER_REFUSED
