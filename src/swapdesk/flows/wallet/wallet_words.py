"""Turns a failure of the wallet into a Failure: code, cause, where the money is, and who acts
next."""

from __future__ import annotations

from swapdesk.flows.failure_messages import MAY_WRITE, NOTHING_SENT, Failure, rule_next
from swapdesk.wallet.answers import objections
from swapdesk.wallet.protocol import (
    AgentGone,
    AgentMissing,
    DeskReadsOnly,
    RefusalCode,
    Refused,
    WalletError,
)

_NEXT = {
    "wrong_passphrase": "you: type it again; once forgotten, only a copy of a key helps",
    "locked": "you: unlock the wallet",
    "read_only": "you: close the other desk, or sign there",
    "unsafe_files": "you: put the files right",
    "key_file": "you: look at the key file",
    "no_account": "you: swapdesk wallet list shows the accounts",
    "published_key": "you: use a key that nobody else knows",
    "not_confirmed": "you: type what is asked for",
    "chain_unreachable": "you: try again, or configure another node under rpc",
    "other_chain": "you: correct the node under rpc",
    "no_smart_accounts": "you: use the wallet that made the smart account",
    "passphrase_needed": "you: give the pass phrase",
    "gate": "you: look at what was refused",
    "unresolved": "you: repeat what signed it, which sends it, or swapdesk wallet cancel",
    "defect": "you: report it",
}
_CORRECT = "you: correct the command"
MISSING, GONE, READ_ONLY = "WALLET_MISSING", "AGENT_GONE", "READ_ONLY"


def failure_of_wallet(error: WalletError) -> Failure:
    """Returns the Failure for a wallet error that was raised before anything was signed. Its code
    is the agent's refusal code, WALLET_MISSING, AGENT_GONE, READ_ONLY or WALLET."""
    if isinstance(error, AgentMissing):
        next_ = f"you: install the extra: {error.mend}" if error.mend else "you: install the extra"
        return Failure(sentence(error.words), NOTHING_SENT, next_, MISSING)
    if isinstance(error, AgentGone):
        return Failure(
            sentence(error.words),
            "where the wallet's records say; what was signed is written down there",
            "you: ask again",
            GONE,
        )
    if isinstance(error, DeskReadsOnly):
        return Failure(sentence(error.words), NOTHING_SENT, MAY_WRITE, READ_ONLY)
    if not isinstance(error, Refused):
        return Failure(sentence(error.words), NOTHING_SENT, "you: report it", "WALLET")
    sentences = sentence(error.words), *objections(error.findings)
    next_ = _NEXT.get(error.code, _CORRECT)
    for finding in error.findings:
        next_ = rule_next(finding.code, next_)
    there = error.code == "no_smart_accounts"
    money = "where it was; nothing was signed" if there else NOTHING_SENT
    return Failure(" ".join(sentences), money, next_, error.code.upper())


def unread_next(code: RefusalCode, chain: str, place: str | None) -> str:
    """Returns who acts next if a chain cannot be read; empty if nothing but another attempt helps.
    ``place`` is the configuration section that names the chain's node, None in the sandbox."""
    if place is None:
        return ""
    if code == "other_chain":
        return f"you: correct {chain} under {place}"
    if code in ("chain_unreachable", "chain_refused"):
        return f"you: read it again, or name another node: {chain} under {place}"
    return _NEXT.get(code, "")


def sentence(words: str) -> str:
    """Returns ``words`` with a capital letter at the beginning and a full stop, ``?`` or ``!`` at
    the end."""
    text = words[:1].upper() + words[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
