"""What was found out about an address that is to be paid."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.flows.check_line import CheckLine


@dataclass(frozen=True)
class RecipientCheck:
    """One address, checked. ``address`` is the spelling to send, empty unless it is one.

    ``label`` is ``@name`` when the address book has it. ``lookalike`` is the known name (or
    short address) and the whole known address it imitates. ``account`` is what all spellings of
    the address share. ``memo`` is the one the address
    book keeps with it. ``needs_memo``: without a memo the chain asks for a typed waiver.
    ``position`` is the place of the character at fault in ``text``, from 1. ``differs`` is the
    warning that the address book keeps another memo with a refund address than it comes with.
    """

    text: str
    address: str
    label: str | None
    ok: bool
    lines: tuple[CheckLine, ...]
    first_use: bool = False
    lookalike: tuple[str, str] | None = None
    needs_memo: bool = False
    memo_label: str = "memo"
    account: str = ""
    memo: str | None = None
    position: int | None = None
    differs: str | None = None

    @property
    def problem(self) -> str | None:
        """The first refusal as a sentence."""
        return next((line.text for line in self.lines if line.level == "refuse"), None)
