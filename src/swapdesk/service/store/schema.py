"""The tables of the store, for both databases, and their migration. A database records which
releases may use it: after a step that only adds something, the previous release can go on."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from swapdesk.service.store.database import Row, SchemaError, Transaction

VERSION = 13
SERVES_FROM = 13
"""Releases whose schema number is at least this may use a database of the present version."""


class Types(Struct, frozen=True):
    serial: str
    """Column type of a number that grows with every row and is never reused."""
    amount: str
    sortable: str
    """Column type of an amount in a form that sorts like the number."""
    bytes: str
    keyed: str
    """Last clause of the definition of a table that is only searched by its key."""
    outbox: str
    """Columns of the outbox table that number its rows in commit order."""


TABLES = """
CREATE TABLE schema_version (
    number      BIGINT NOT NULL,
    serves_from BIGINT NOT NULL
);

CREATE TABLE worlds (
    part     TEXT NOT NULL,
    identity TEXT NOT NULL,
    CONSTRAINT one_world PRIMARY KEY (part)
){keyed};

CREATE TABLE quotes (
    quote_id        TEXT NOT NULL,
    partner_id      TEXT NOT NULL,
    purpose         TEXT NOT NULL,
    route           TEXT NOT NULL,
    created         BIGINT NOT NULL,
    expires         BIGINT NOT NULL,
    token_in_id     TEXT NOT NULL,
    token_out_id    TEXT NOT NULL,
    amount_in       {amount} NOT NULL,
    amount_out      {amount} NOT NULL,
    amount_in_usd   {amount},
    amount_out_usd  {amount},
    minutes         {amount} NOT NULL,
    legs            TEXT NOT NULL,
    middle_token_id TEXT,
    middle_amount   {amount},
    consumed_by     TEXT,
    fixed           BOOLEAN NOT NULL,
    receive         BOOLEAN NOT NULL,
    markup          {amount} NOT NULL,
    rates           TEXT NOT NULL,
    payout_wallet   BIGINT,
    requires_refund_address BOOLEAN NOT NULL,
    filtered        BOOLEAN NOT NULL,
    choice          TEXT NOT NULL,
    plan            TEXT NOT NULL,
    fee_usd         {amount},
    CONSTRAINT one_quote PRIMARY KEY (quote_id)
){keyed};
CREATE INDEX quotes_by_expiry ON quotes (expires);

CREATE TABLE orders (
    number           {serial},
    service_id       TEXT NOT NULL,
    record_id        TEXT NOT NULL,
    partner_id       TEXT NOT NULL,
    quote_id         TEXT NOT NULL,
    request_digest   TEXT NOT NULL,
    route            TEXT NOT NULL,
    created          BIGINT NOT NULL,
    modified         BIGINT NOT NULL,
    expires          BIGINT NOT NULL,
    status           BIGINT NOT NULL,
    display_status   TEXT NOT NULL,
    rank             BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    due_at           BIGINT,
    in_status        BIGINT NOT NULL,
    out_status       BIGINT,
    token_in_id      TEXT NOT NULL,
    token_out_id     TEXT NOT NULL,
    amount_in        {amount} NOT NULL,
    amount_out       {amount} NOT NULL,
    amount_in_usd    {amount},
    amount_out_usd   {amount},
    minutes          {amount} NOT NULL,
    receiver_address TEXT NOT NULL,
    receiver_tag     TEXT,
    refund_address   TEXT,
    refund_tag       TEXT,
    deposit_address  TEXT,
    deposit_tag      TEXT,
    deposit_account  TEXT,
    legs             TEXT NOT NULL,
    middle_token_id  TEXT,
    middle_amount    {amount},
    failure_code     TEXT,
    attempt          BIGINT NOT NULL,
    detail           TEXT NOT NULL,
    source_chain     TEXT,
    confirmed_hash   TEXT,
    finished_day     TEXT,
    fixed            BOOLEAN NOT NULL,
    receive          BOOLEAN NOT NULL,
    markup           {amount} NOT NULL,
    rates            TEXT NOT NULL,
    payout_wallet    BIGINT,
    choice           TEXT NOT NULL,
    plan             TEXT NOT NULL,
    multi_id         TEXT,
    fee_usd          {amount},
    commission       {amount},
    amount_key       {sortable} NOT NULL,
    told             BOOLEAN NOT NULL,
    lease_owner      TEXT,
    lease_until      BIGINT,
    CONSTRAINT one_order UNIQUE (service_id),
    CONSTRAINT one_record UNIQUE (record_id)
);
CREATE UNIQUE INDEX one_order_per_quote ON orders (partner_id, quote_id);
CREATE UNIQUE INDEX one_order_per_transaction ON orders (source_chain, confirmed_hash)
    WHERE confirmed_hash IS NOT NULL;
CREATE INDEX orders_by_creation ON orders (partner_id, created, told);
CREATE INDEX orders_by_status ON orders (partner_id, status, created, told);
CREATE INDEX orders_due ON orders (lease_until, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX orders_of_group ON orders (multi_id) WHERE multi_id IS NOT NULL;
CREATE INDEX orders_finished ON orders (partner_id, finished_day) WHERE status = 4;
CREATE INDEX orders_by_deposit ON orders (deposit_account, created)
    WHERE deposit_account IS NOT NULL;

CREATE TABLE groups (
    multi_id   TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    created    BIGINT NOT NULL,
    chain      TEXT NOT NULL,
    told       BOOLEAN NOT NULL,
    CONSTRAINT one_group PRIMARY KEY (multi_id)
){keyed};

CREATE TABLE bundles (
    number         {serial},
    multi_id       TEXT NOT NULL,
    partner_id     TEXT NOT NULL,
    chain          TEXT NOT NULL,
    created        BIGINT NOT NULL,
    modified       BIGINT NOT NULL,
    expires        BIGINT NOT NULL,
    state          TEXT NOT NULL,
    owner          TEXT NOT NULL,
    batches        TEXT NOT NULL,
    tx_hash        TEXT,
    failure_reason TEXT
);
CREATE INDEX bundles_of_group ON bundles (multi_id, number);
CREATE INDEX bundles_under_way ON bundles (number) WHERE state = 'submitted';

CREATE TABLE outbox (
    {outbox},
    service_id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    version    BIGINT NOT NULL,
    status     BIGINT NOT NULL,
    rank       BIGINT NOT NULL,
    committed  BIGINT NOT NULL
);

CREATE TABLE requests (
    partner_id TEXT NOT NULL,
    month      TEXT NOT NULL,
    count      BIGINT NOT NULL,
    CONSTRAINT one_month PRIMARY KEY (partner_id, month)
){keyed};

CREATE TABLE usage (
    partner_id TEXT NOT NULL,
    rate_class TEXT NOT NULL,
    seconds    BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    used       BIGINT NOT NULL,
    CONSTRAINT one_window PRIMARY KEY (partner_id, rate_class, seconds)
){keyed};

CREATE TABLE scans (
    token_id      TEXT NOT NULL,
    verdict       {bytes},
    expires       BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    CONSTRAINT one_scan PRIMARY KEY (token_id)
){keyed};

CREATE TABLE day_sums (
    partner_id TEXT NOT NULL,
    day        TEXT NOT NULL,
    orders     BIGINT NOT NULL,
    private    BIGINT NOT NULL,
    volume     {amount} NOT NULL,
    commission {amount} NOT NULL,
    entries    BIGINT NOT NULL,
    CONSTRAINT one_sum PRIMARY KEY (partner_id, day)
){keyed};

CREATE TABLE commissions (
    number     {serial},
    partner_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    month      TEXT NOT NULL,
    day        TEXT NOT NULL,
    booked     BIGINT NOT NULL,
    amount     {amount} NOT NULL,
    service_id TEXT
);
CREATE UNIQUE INDEX one_entry_per_order ON commissions (service_id, kind)
    WHERE service_id IS NOT NULL;
CREATE INDEX commissions_of_month ON commissions (partner_id, kind, month);

CREATE TABLE partners (
    number     {serial},
    partner_id TEXT NOT NULL,
    name       TEXT NOT NULL,
    tier       TEXT NOT NULL,
    created    BIGINT NOT NULL,
    suspended  BOOLEAN NOT NULL,
    overrides  TEXT NOT NULL,
    origins    TEXT NOT NULL,
    CONSTRAINT one_partner UNIQUE (partner_id)
);

CREATE TABLE api_keys (
    number        {serial},
    api_key       TEXT NOT NULL,
    partner_id    TEXT NOT NULL,
    secret_digest {bytes} NOT NULL,
    scope         TEXT NOT NULL,
    dialect       TEXT,
    created       BIGINT NOT NULL,
    revoked       BIGINT,
    CONSTRAINT one_key UNIQUE (api_key)
);
CREATE INDEX api_keys_of_partner ON api_keys (partner_id);

CREATE TABLE partner_changes (number BIGINT NOT NULL);
INSERT INTO partner_changes (number) VALUES (0);

CREATE TABLE workers (
    owner TEXT NOT NULL,
    seen  BIGINT NOT NULL,
    CONSTRAINT one_worker PRIMARY KEY (owner)
);

CREATE TABLE audit (
    number     {serial},
    at         BIGINT NOT NULL,
    operator   TEXT NOT NULL,
    action     TEXT NOT NULL,
    partner_id TEXT NOT NULL
);

CREATE TABLE payments (
    payment          TEXT NOT NULL,
    ends             BIGINT NOT NULL,
    opened           TEXT,
    sent             TEXT,
    transaction_hash TEXT,
    CONSTRAINT one_payment PRIMARY KEY (payment)
){keyed};
CREATE INDEX payments_by_end ON payments (ends);

CREATE TABLE webhooks (
    source   TEXT NOT NULL,
    event_id TEXT NOT NULL,
    ends     BIGINT NOT NULL,
    CONSTRAINT one_event PRIMARY KEY (source, event_id)
){keyed};
CREATE INDEX webhooks_by_end ON webhooks (ends);
"""
# ``opened`` is the order or the group that the call of a payment began; ``sent`` is the transaction
# that was to bring it to a chain, and ``transaction_hash`` the one that did. ``source_chain``,
# ``confirmed_hash`` and ``finished_day`` of an order are members of its ``detail``.

STEPS: Mapping[int, str] = {}
"""Statements that migrate a database by one version, by the version before."""


VERSION_ROW = "SELECT number, serves_from FROM schema_version"


def check_version(row: Row | None) -> int:
    """Returns a database's schema number. Raises SchemaError if it is missing or this release must
    not use the database."""
    if row is None:
        raise SchemaError("it does not tell its schema")
    number, serves_from = int(row["number"]), int(row["serves_from"])
    if number > VERSION and serves_from > VERSION:
        raise SchemaError(
            f"it has schema {number}, this release knows {VERSION}: update this program"
        )
    return number


async def migrate(db: Transaction, types: Types) -> None:
    """Migrates a database to the present version, unless it is newer already. Raises SchemaError if
    this release must not use it."""
    number = check_version(await db.row(VERSION_ROW))
    if number >= VERSION:
        return
    for before in range(number, VERSION):
        for statement in statements(STEPS[before], types):
            await db.run(statement)
    serves = {"number": VERSION, "serves_from": SERVES_FROM}
    await db.run("UPDATE schema_version SET number = :number, serves_from = :serves_from", serves)


def statements(text: str, types: Types) -> list[str]:
    script = text.format(**{name: getattr(types, name) for name in types.__struct_fields__})
    return [statement.strip() for statement in script.split(";") if statement.strip()]


async def create(db: Transaction, types: Types) -> None:
    for statement in statements(TABLES, types):
        await db.run(statement)
    await db.run(
        "INSERT INTO schema_version (number, serves_from) VALUES (:number, :serves_from)",
        {"number": VERSION, "serves_from": SERVES_FROM},
    )


async def claim_world(db: Transaction, world: Mapping[str, str]) -> None:
    """Records the owning service's identity in the database. Raises SchemaError if the database
    records another service, because services that disagree about chains must not share orders."""
    for part, identity in world.items():
        values = {"part": part, "identity": identity}
        await db.run(
            "INSERT INTO worlds (part, identity) VALUES (:part, :identity)"
            " ON CONFLICT (part) DO NOTHING",
            values,
        )
        row = await db.row("SELECT identity FROM worlds WHERE part = :part", values)
        if row is not None and row["identity"] != identity:
            raise SchemaError(
                f"it belongs to another service: {part} is {row['identity']} there,"
                f" and {identity} here"
            )
