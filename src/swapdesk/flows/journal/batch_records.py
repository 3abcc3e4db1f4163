"""Batches as the journal has them: groups and rows. A group leaves as one request. Each row says
what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

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


class NewRow(Struct, frozen=True):
    """``cells`` by the name of their column, as they stood when they were confirmed."""

    number: int
    line: int
    cells: Mapping[str, str]


class NewGroup(Struct, frozen=True):
    """``body`` is the request as it will leave, byte for byte."""

    chain: str
    paid: str
    body: str
    rows: tuple[NewRow, ...]


class JournaledRow(Struct, frozen=True):
    number: int
    line: int
    group: int
    place: int
    cells: Mapping[str, str]
    state: RowState
    service_id: str | None
    code: str | None
    reason: str | None


class JournaledGroup(Struct, frozen=True):
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


class JournaledBatch(Struct, frozen=True):
    id: str
    created: datetime
    file: str
    groups: tuple[JournaledGroup, ...]

    @property
    def rows(self) -> tuple[JournaledRow, ...]:
        """In the order of the file."""
        found = [row for group in self.groups for row in group.rows]
        return tuple(sorted(found, key=lambda row: row.number))


class RowEnd(Struct, frozen=True):
    """What became of the row at ``place`` of its group."""

    place: int
    state: RowState
    service_id: str | None = None
    code: str | None = None
    reason: str | None = None
