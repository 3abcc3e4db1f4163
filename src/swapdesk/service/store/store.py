"""``Store``: everything that the service stores, by subject, in one database. A method returns
after its durable transaction. Any method raises StoreUnavailable if the database does not
answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from swapdesk.service.store import schema
from swapdesk.service.store.books import Books
from swapdesk.service.store.calls import Calls
from swapdesk.service.store.database import Database, Place, moment_of
from swapdesk.service.store.groups import Groups
from swapdesk.service.store.orders import Orders, Quotes
from swapdesk.service.store.outbox import Outbox
from swapdesk.service.store.partners import Partners
from swapdesk.service.store.payments import CallPayments
from swapdesk.service.store.remembered import Scans, Webhooks
from swapdesk.service.store.sqlite import SqliteDatabase, Writer


class Store:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.quotes = Quotes(database)
        self.orders = Orders(database)
        self.groups = Groups(database, self.orders.report)
        self.calls = Calls(database)
        self.payments = CallPayments(database)
        self.books = Books(database)
        self.partners = Partners(database)
        self.outbox = Outbox(database)
        self.scans = Scans(database)
        self.webhooks = Webhooks(database)

    @classmethod
    def open(
        cls,
        path: Path | str,
        world: Mapping[str, str] | None = None,
        writer: type[Writer] = Writer,
    ) -> Store:
        """Opens or creates the file of an embedded database. ``world`` identifies the service that
        owns the file; None omits the check of the owner. Raises SchemaError."""
        return cls(SqliteDatabase.open(Path(path), world, writer))

    @classmethod
    async def connect(cls, place: Place, world: Mapping[str, str] | None = None) -> Store:
        """Connects to PostgreSQL. ``world`` identifies the service that owns the database; None
        omits the check of the owner. Raises SchemaError and StoreUnavailable."""
        # On use: the embedded service does without the library.
        from swapdesk.service.store.postgres import PostgresDatabase

        return cls(await PostgresDatabase.open(place, world))

    async def check_schema(self) -> None:
        """Raises SchemaError if a newer release has migrated the database beyond this release."""
        rows = await self.database.look(schema.VERSION_ROW)
        schema.check_version(next(iter(rows), None))

    async def now(self) -> datetime:
        (row,) = await self.database.look(self.database.wording.clock)
        return moment_of(int(row["now"]))

    async def close(self) -> None:
        await self.database.close()
