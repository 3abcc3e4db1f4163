"""Batches as the journal has them: groups that leave as one request each, and every row with what
became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swapdesk.flows.journal.journal_records import StepState


class RowState(StrEnum):
    PLANNED = "planned"
    """Nothing was asked for."""
    UNKNOWN = "unknown"
    """Asked for; whether an order exists is not known."""
    CREATED = "created"
    FAILED = "failed"
    """No order exists."""
    DIFFERS = "differs"
    """An order exists that is not what was asked for: never to be paid."""


class BatchCreatedBefore(Exception):
    """The same rows were asked for before, by the batch of ``batch_id``."""

    def __init__(self, batch_id: str) -> None:
        super().__init__(batch_id)
        self.batch_id = batch_id


@dataclass(frozen=True)
class NewRow:
    """``cells`` by the name of their column, as they stood when they were confirmed."""

    number: int
    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class NewGroup:
    """``body`` is the request as it will leave, byte for byte."""

    chain: str
    paid: str
    body: str
    rows: tuple[NewRow, ...]


@dataclass(frozen=True)
class JournaledRow:
    number: int
    line: int
    group: int
    place: int
    cells: Mapping[str, str]
    state: RowState
    service_id: str | None
    code: str | None
    reason: str | None


@dataclass(frozen=True)
class JournaledGroup:
    """``server_at`` is when it was sent by the clock of the service."""

    number: int
    chain: str
    paid: str
    body: str
    state: StepState
    multi_id: str | None
    server_at: datetime | None
    code: str | None
    rows: tuple[JournaledRow, ...]

    @property
    def open(self) -> bool:
        """Whether it may have been created without this desk knowing."""
        return self.state in (StepState.SENT, StepState.UNKNOWN)


@dataclass(frozen=True)
class JournaledBatch:
    id: str
    created: datetime
    file: str
    groups: tuple[JournaledGroup, ...]

    @property
    def rows(self) -> tuple[JournaledRow, ...]:
        """In the order of the file."""
        found = [row for group in self.groups for row in group.rows]
        return tuple(sorted(found, key=lambda row: row.number))


@dataclass(frozen=True)
class RowEnd:
    """What became of the row at ``place`` of its group."""

    place: int
    state: RowState
    service_id: str | None = None
    code: str | None = None
    reason: str | None = None
