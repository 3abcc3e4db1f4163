"""Why a command stops: the end, the cause, where the money is, and who acts next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from swapdesk.cli.error_table import UNMOVED, words_of
from swapdesk.cli.exit_codes import Exit, exit_of

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.wallet.errors import WalletError


@dataclass(eq=False)
class CommandError(Exception):
    """Why a command cannot go on. ``fields`` maps an input that is wrong to an object with a
    ``message``, as the error bodies of the API do; some have more.

    ``money`` and ``next`` are those of the code (``error_table``) where none are given.
    """

    PRINTED: ClassVar = {
        "code": "code", "message": "message", "status": "status", "requestId": "request_id",
        "fields": "fields", "money": "money", "next": "next",
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
        money, next_ = words_of(self.code)
        self.money, self.next = self.money or money, self.next or next_

    def __str__(self) -> str:
        return self.message


class ErrorDocument(Struct, frozen=True):
    """What ``--json`` prints on standard error when a command fails."""

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
    """Exit 2; ``field`` is the argument at fault, ``facts`` what else is known of it."""
    fields = {field: {"message": message, **facts}} if field else {}
    return CommandError(Exit.BAD_INPUT, code, message, money, next, fields=fields)


def own_refusal(code: str, message: str, *, money: str = "", next: str = "") -> CommandError:
    """Exit 9: the desk itself refuses."""
    return CommandError(Exit.OWN_REFUSAL, code, message, money, next)


def not_confirmed(said: str, *, money: str = "") -> CommandError:
    """Exit 130: a person said no, or nothing."""
    return CommandError(Exit.INTERRUPTED, "NOT_CONFIRMED", said, money)


def unusable_journal(problem: str) -> CommandError:
    """Exit 9 where the orders stand in a journal that cannot be used now."""
    return CommandError(
        Exit.OWN_REFUSAL,
        "NO_JOURNAL",
        f"The journal cannot be used: {problem}. Which orders there are stands in it.",
        UNMOVED,
        "you: make room or mend the file; swapdesk api GET /orders shows what the service lists",
    )


def of_error(error: Exception) -> CommandError | None:
    """What an error of another room means for the caller of a command; None for a defect."""
    from swapdesk.client.credentials import CredentialsError
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.journal.journal_file import JournalUnavailable
    from swapdesk.flows.journal.journal_migration import JournalRefused
    from swapdesk.flows.quotes.quote_request import WishRefused
    from swapdesk.paths import UnsafePlace
    from swapdesk.wallet.errors import WalletError

    if isinstance(error, ClientError):
        return of_client_error(error)
    if isinstance(error, WalletError):
        return of_wallet_error(error)
    if isinstance(error, WishRefused):
        return bad_input("BAD_OPTION", error.message, field=error.field.replace(" ", "-"))
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
"""What SQLite answers for the file and not for the statement: PERM, BUSY, LOCKED, READONLY, IOERR,
CORRUPT, FULL, CANTOPEN, NOTADB (https://sqlite.org/rescode.html)."""


def of_unusable_file(error: Exception, *, money: str = "") -> CommandError | None:
    """Exit 9 for a file of the desk that cannot be read or written; None for any other error."""
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


def of_client_error(error: ClientError) -> CommandError:
    """What a failed call means for the caller of a command."""
    from swapdesk.client.errors import (
        AnswerRefused,
        ApiError,
        NotPaid,
        OutcomeUnknown,
        RateLimited,
        RequestRefused,
        Unreachable,
    )
    from swapdesk.flows.failure_messages import (
        ANSWER_REFUSED,
        OUTCOME_UNKNOWN,
        failure_of,
        unsent,
        with_payment,
    )

    end = exit_of(error)
    if isinstance(error, RequestRefused):
        return CommandError(end, "REQUEST_REFUSED", f"{error}.")
    if isinstance(error, NotPaid):
        said = unsent(error)
        return CommandError(end, error.code, said.cause, said.money, said.next)
    if isinstance(error, OutcomeUnknown):
        said = with_payment(OUTCOME_UNKNOWN, error)
        return CommandError(
            end,
            error.code or "OUTCOME_UNKNOWN",
            said.cause,
            said.money,
            said.next,
            error.status,
            error.request_id,
        )
    if isinstance(error, ApiError):
        code = error.code or f"HTTP_{error.status}"
        said = with_payment(failure_of(code, error.status), error)
        message = f"{said.cause} {error.message}".strip()
        next_ = said.next
        if isinstance(error, RateLimited) and error.retry_after is not None:
            next_ = f"you: wait {error.retry_after:.0f} s"
        fields = {name: {"message": problem.message} for name, problem in error.fields.items()}
        return CommandError(
            end, code, message, said.money, next_, error.status, error.request_id, fields
        )
    if isinstance(error, AnswerRefused):
        said = with_payment(ANSWER_REFUSED, error)
        message = f"{said.cause} {error}"
        return CommandError(
            end,
            f"ANSWER_{error.reason.upper()}",
            message,
            said.money,
            said.next,
            error.status,
            error.request_id,
        )
    said = unsent(error)
    code = "NOT_REACHABLE" if isinstance(error, Unreachable) else "NO_ANSWER"
    return CommandError(end, code, f"{said.cause} {error}", said.money, said.next)


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
"""Ends by code; every other one is the wallet's own refusal."""


def of_wallet_error(error: WalletError) -> CommandError:
    """Exit 9 unless the code says more."""
    from swapdesk.flows.wallet.wallet_words import failure_of_wallet

    said = failure_of_wallet(error)
    end = _WALLET_ENDS.get(said.code, Exit.OWN_REFUSAL)
    return CommandError(end, said.code, said.cause, said.money, said.next)
