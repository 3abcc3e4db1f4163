"""What a failed question to the wallet means: a code, the cause, the money, and who acts."""

from __future__ import annotations

from swapdesk.flows.failure_messages import MAY_WRITE, NOTHING_SENT, Failure, rule_next
from swapdesk.wallet.answers import Severity
from swapdesk.wallet.protocol import (
    AgentGone,
    AgentMissing,
    DeskReadsOnly,
    RefusalCode,
    Refused,
    WalletError,
)

_NEXT = {
    RefusalCode.WRONG_PASSPHRASE: "you: type it again; once forgotten, only a copy of a key helps",
    RefusalCode.LOCKED: "you: unlock the wallet",
    RefusalCode.READ_ONLY: "you: close the other desk, or sign there",
    RefusalCode.UNSAFE_FILES: "you: put the files right",
    RefusalCode.KEY_FILE: "you: look at the key file",
    RefusalCode.NO_ACCOUNT: "you: swapdesk wallet list shows the accounts",
    RefusalCode.PUBLISHED_KEY: "you: use a key that nobody else knows",
    RefusalCode.NOT_CONFIRMED: "you: type what is asked for",
    RefusalCode.CHAIN_UNREACHABLE: "you: try again, or configure another node under rpc",
    RefusalCode.OTHER_CHAIN: "you: correct the node under rpc",
    RefusalCode.NO_SMART_ACCOUNTS: "you: use the wallet that made the smart account",
    RefusalCode.PASSPHRASE_NEEDED: "you: give the pass phrase",
    RefusalCode.GATE: "you: look at what was refused",
    RefusalCode.UNRESOLVED: "you: wait for the transaction before it",
    RefusalCode.DEFECT: "you: report it",
}
_CORRECT = "you: correct the command"
MISSING, GONE, READ_ONLY = "WALLET_MISSING", "AGENT_GONE", "READ_ONLY"


class WalletFailure(Failure, frozen=True):
    """``code`` is stable: that of the agent's refusal in capitals."""

    code: str


def failure_of_wallet(error: WalletError) -> WalletFailure:
    """The words of an error. Only what was never signed ends so."""
    if isinstance(error, AgentMissing):
        next_ = f"you: install the extra: {error.mend}" if error.mend else "you: install the extra"
        return WalletFailure(sentence(error.words), NOTHING_SENT, next_, MISSING)
    if isinstance(error, AgentGone):
        return WalletFailure(
            sentence(error.words),
            "where the wallet's records say; what was signed is written down there",
            "you: ask again",
            GONE,
        )
    if isinstance(error, DeskReadsOnly):
        return WalletFailure(sentence(error.words), NOTHING_SENT, MAY_WRITE, READ_ONLY)
    if not isinstance(error, Refused):
        return WalletFailure(sentence(error.words), NOTHING_SENT, "you: report it", "WALLET")
    said = [sentence(error.words)]
    said += [
        f"{one.words} Rule {one.code}." for one in error.findings if one.severity is Severity.REFUSE
    ]
    next_ = _NEXT.get(error.code, _CORRECT)
    for one in error.findings:
        next_ = rule_next(one.code, next_)
    there = error.code is RefusalCode.NO_SMART_ACCOUNTS
    money = "where it was; nothing was signed" if there else NOTHING_SENT
    return WalletFailure(" ".join(said), money, next_, error.code.upper())


def unread_next(code: RefusalCode, chain: str, place: str | None) -> str:
    """Who acts next where ``chain``, by its short name, could not be read; empty where reading it
    again is all that helps. ``place`` is the table of the configuration that names its node, None
    in the sandbox, whose nodes are its own."""
    if place is None:
        return ""
    if code is RefusalCode.OTHER_CHAIN:
        return f"you: correct {chain} under {place}"
    if code in (RefusalCode.CHAIN_UNREACHABLE, RefusalCode.CHAIN_REFUSED):
        return f"you: read it again, or name another node: {chain} under {place}"
    return _NEXT.get(code, "")


def sentence(words: str) -> str:
    """The words with a capital at the beginning and a point at the end."""
    text = words[:1].upper() + words[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
