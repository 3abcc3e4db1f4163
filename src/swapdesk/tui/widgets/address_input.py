"""Typing an address: groups while typing, one sentence per check, a look-alike side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from swapdesk.flows.notation import address_groups, differing_groups
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.check_line import Check
from swapdesk.tui.widgets.labelled_field import LabelledField
from swapdesk.tui.widgets.text_field import TextField


@dataclass(frozen=True, slots=True)
class Alike:
    """A known address that the typed one resembles; ``name`` as ``@bob``."""

    name: str
    address: str


class AddressInput(LabelledField):
    """``note`` names the chain in words: ``gets the ETH, on Ethereum``."""

    def __init__(
        self, label: str, *, note: LineLike = "", value: str = "", limit: int = 256, **place: Any
    ) -> None:
        field = TextField(value, grouped=True, limit=limit)
        super().__init__(label, field, note=note, **place)

    def show_result(
        self,
        checks: Sequence[Check],
        *,
        wrong: frozenset[int] = frozenset(),
        alike: Alike | None = None,
    ) -> None:
        """``wrong``: positions from 0 to mark; ``alike``: the pair under the checks."""
        self.field.mark(wrong)
        self._checks.show(checks, alike_lines(self.value, alike) if alike else ())


def alike_lines(address: str, alike: Alike) -> list[Line]:
    """Both addresses in full; only the groups that differ are bold."""
    differing = differing_groups(address, alike.address)
    size = max(len("this"), len(alike.name)) + 2
    return [
        _alike_line("this", address, differing, size),
        _alike_line(alike.name, alike.address, differing, size),
    ]


def _alike_line(name: str, address: str, differing: list[int], size: int) -> Line:
    line: Line = [Span(name.ljust(size), "muted")]
    for at, group in enumerate(address_groups(address)):
        differs = at in differing
        gap = " " if at else ""
        role = "status-waiting" if differs else "foreground"
        line.append(Span(gap + group, role, bold=differs))
    return line
