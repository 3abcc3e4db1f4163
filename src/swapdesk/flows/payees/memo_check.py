"""The memo or tag beside an address, checked without a call (contract 5.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from swapdesk.chain.addresses.memos import WAIVER, memo_label, uses_memo
from swapdesk.chain.addresses.memos import check_memo as memo_verdict
from swapdesk.flows.check_line import CheckLevel, CheckLine
from swapdesk.flows.payees.recipient_check import RecipientCheck
from swapdesk.wire.tokens import Token

_FAULTS = {"missing": "missing", "length": "too long", "range": "too large"}


@dataclass(frozen=True)
class MemoCheck:
    """``memo`` is what to send, None for none; ``used`` is False where a chain has no memos.

    ``differs`` is the warning that the address book keeps another one with the recipient;
    ``fault`` what is wrong in a few words, empty for nothing.
    """

    memo: str | None
    waived: bool
    ok: bool
    label: str
    used: bool
    lines: tuple[CheckLine, ...] = field(default=())
    differs: str | None = None
    fault: str = ""

    @property
    def problem(self) -> str | None:
        """The first refusal as a sentence."""
        return next((line.text for line in self.lines if line.level == "refuse"), None)


NO_MEMO = "A swap on chains carries no memo."
TO_YOURSELF = "Have it sent to your own wallet, and send it on from there."


def check_memo(
    text: str | None, waived: bool, token: Token, *, on_chain: bool = False
) -> MemoCheck:
    """The memo or destination tag for a payout of ``token``.

    ``waived`` (``--memo ""`` in a command) or the typed phrase ``NO MEMO`` sends none. A swap
    ``on_chain`` carries none, whatever its chain has.
    """
    chain = token.chain_data
    label = memo_label(chain.kind)
    typed = text or ""
    if on_chain and uses_memo(chain.kind):
        if not typed and not chain.memo_needed:
            return MemoCheck(None, False, True, label, False, (CheckLine("ok", NO_MEMO),))
        line = CheckLine("refuse", f"{NO_MEMO} {TO_YOURSELF}")
        return MemoCheck(None, False, False, label, False, (line,), fault="not used")
    used = uses_memo(chain.kind) or bool(chain.memo_needed)
    if not used:
        if not typed:
            line = CheckLine("ok", f"Not used on {chain.name}.")
            return MemoCheck(None, False, True, label, False, (line,))
        line = CheckLine("refuse", f"{chain.name} has no memos. Leave it empty.")
        return MemoCheck(None, False, False, label, False, (line,), fault="not used")
    verdict = memo_verdict(
        chain.kind,
        typed or (WAIVER if waived and chain.memo_needed else ""),
        chain.memo_needed,
        chain_name=chain.name,
        symbol=token.symbol,
    )
    level: CheckLevel = "refuse" if not verdict.ok else "warn" if verdict.code == "waived" else "ok"
    return MemoCheck(
        memo=verdict.normalized or None,
        waived=verdict.code == "waived",
        ok=verdict.ok,
        label=label,
        used=True,
        lines=(CheckLine(level, verdict.reason),),
        fault="" if verdict.ok else _FAULTS.get(verdict.code, "not valid yet"),
    )


def check_memo_of(
    recipient: RecipientCheck,
    text: str | None,
    waived: bool,
    token: Token,
    *,
    on_chain: bool = False,
) -> MemoCheck:
    """:func:`check_memo`, compared with the memo that the address book keeps with ``recipient``.

    Another memo, or none, credits somebody else at an exchange: it is agreed to first, and where
    none can be sent refused.
    """
    if on_chain:
        return check_memo(text or recipient.memo, False, token, on_chain=True)
    check = check_memo(text, waived, token)
    if not (check.ok and check.used and recipient.ok):
        return check
    said = another_memo(recipient.label, recipient.memo, check.memo, token)
    if said is None:
        return check
    return replace(check, lines=(*check.lines, CheckLine("warn", said)), differs=said)


def another_memo(name: str | None, kept: str | None, memo: str | None, token: Token) -> str | None:
    """The warning that ``memo``, as it is sent, is not the one the address book keeps with
    ``name``; None where it keeps none."""
    if not name or not kept or check_memo(kept, False, token).memo == memo:
        return None
    word = memo_label(token.chain_data.kind).removeprefix("destination ")
    return f"This is not the {word} of {name}: {kept}."
