"""Query strings: strict when read, every problem named at once, the same model on both sides."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rows import each_row
from swapdesk.wire.encoding.dialect import alias
from swapdesk.wire.encoding.ids import OrderId
from swapdesk.wire.encoding.query import (
    FreeText,
    QueryBoolean,
    QueryError,
    QueryInteger,
    QueryNumber,
    QueryTime,
    encode_query,
    parse_query,
)
from swapdesk.wire.encoding.text import Identity


class Listing(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    page: Annotated[QueryInteger, Field(ge=1, le=10_000)] = 1
    page_size: QueryInteger = Field(100, ge=1, le=100, alias="pageSize")
    amount: QueryNumber | None = Field(None, gt=0, le=Decimal("0.5"))
    kinds: list[Annotated[str, Identity(16)]] | None = Field(None, max_length=3, alias="kind")
    term: Annotated[str, FreeText(100)] | None = None
    address: Annotated[str, Identity(200)] | None = None
    order: OrderId | None = Field(
        None, validation_alias=alias("serviceId"), serialization_alias="serviceId"
    )
    mainnet: QueryBoolean | None = None
    sort_by: Literal["created", "updated"] = Field("created", alias="sortBy")
    since: QueryTime | None = Field(None, alias="from")
    until: QueryTime | None = Field(None, alias="to")

    @model_validator(mode="after")
    def in_order(self) -> Listing:
        if self.since is not None and self.until is not None and self.since > self.until:
            raise PydanticCustomError("order", "must not be after to", {"field": "from"})
        return self


class Wanted(BaseModel):
    amount: QueryNumber
    source: OrderId = Field(alias="from")


def problems(*pairs: tuple[str, str], model: type[BaseModel] = Listing) -> dict[str, str]:
    with pytest.raises(QueryError) as caught:
        parse_query(model, list(pairs))
    return caught.value.fields


def test_every_kind_of_value_is_read() -> None:
    listing = parse_query(
        Listing,
        [
            ("page", "3"),
            ("pageSize", "100"),
            ("amount", "0.50"),
            ("kind", "evm"),
            ("kind", "a,b"),
            ("term", "Ærø 日本"),
            ("houdiniId", "m1Xc7D"),
            ("mainnet", "false"),
            ("sortBy", "updated"),
            ("from", "2026-11-20"),
            ("to", "2026-11-20T14:02:11+02:00"),
        ],
    )
    assert listing.model_dump() == {
        "page": 3,
        "page_size": 100,
        "amount": Decimal("0.50"),
        "kinds": ["evm", "a,b"],
        "term": "Ærø 日本",
        "address": None,
        "order": "m1Xc7D",
        "mainnet": False,
        "sort_by": "updated",
        "since": datetime(2026, 11, 20, tzinfo=UTC),
        "until": datetime(2026, 11, 20, 12, 2, 11, tzinfo=UTC),
    }
    assert parse_query(Listing, []) == Listing()


def test_all_problems_are_named_at_once_under_the_name_that_was_sent() -> None:
    assert problems(
        ("page", "0"),
        ("pageSize", "101"),
        ("amount", "0.51"),
        ("kind", "evm"),
        ("kind", ""),
        ("houdiniId", "a?x=1"),
        ("mainnet", "yes"),
        ("sortBy", "amount"),
        ("from", "yesterday"),
        ("page_size", "5"),
        ("to", "2026-11-20"),
        ("to", "2026-11-21"),
    ) == {
        "page": "must be at least 1",
        "pageSize": "must be at most 100",
        "amount": "must be at most 0.5",
        "kind": "must not be empty",
        "houdiniId": "must match ^[A-Za-z0-9_-]{1,64}$",
        "mainnet": "must be true or false",
        "sortBy": "must be 'created' or 'updated'",
        "from": "must be a date-time like 2026-11-20T14:02:11Z",
        "page_size": "is no parameter of this operation",
        "to": "must be given once",
    }


def test_a_missing_parameter_and_a_bad_one_are_named_together() -> None:
    assert problems(("from", "../../admin"), model=Wanted) == {
        "amount": "is required",
        "from": "must match ^[A-Za-z0-9_-]{1,64}$",
    }
    assert problems(("amount", ""), model=Wanted) == {
        "amount": "must not be empty",
        "from": "is required",
    }


def test_the_bad_entry_of_a_list_is_shown() -> None:
    assert problems(("kind", "evm"), ("kind", "x" * 17)) == {
        "kind": "at most 16 characters, not 17"
    }
    assert problems(*[("kind", "evm")] * 4) == {"kind": "must have at most 3 entries"}


def test_a_rule_over_two_parameters_names_one() -> None:
    assert problems(("from", "2026-11-21"), ("to", "2026-11-20")) == {
        "from": "must not be after to"
    }


def test_both_spellings_of_one_parameter_are_a_repetition() -> None:
    found = problems(("serviceId", "a"), ("houdiniId", "b"))
    assert found == {"serviceId": "must be given once"}


@each_row(
    ("name", "value"),
    [
        ("page", "+1"), ("page", "01"), ("page", "1.0"), ("page", "1e1"), ("page", " 1"),
        ("page", "１"), ("page", "9" * 5000), ("page", "1_0"), ("page", "true"),
        ("amount", "-0.1"), ("amount", "1e-1"), ("amount", ".1"), ("amount", "0."),
        ("amount", "0,1"), ("amount", "NaN"), ("amount", "٠.١"), ("amount", "0x1"),
        ("amount", "0." + "1" * 41), ("amount", "00.1"), ("amount", "0.1\n"), ("amount", "inf"),
        ("mainnet", "True"), ("mainnet", "1"), ("mainnet", "on"), ("mainnet", "TRUE"),
        ("from", "1700000000"), ("from", "2026-11-20 14:02:11"), ("from", "20261120"),
        ("address", "0xé"), ("address", "0x1\u200b"), ("address", "x" * 201),
        ("term", "a\x1b[2J"), ("term", "a\u202eb"), ("term", "x" * 101), ("term", "\ud800"),
        ("apikey", "x"), ("", "x"),
    ],
)  # fmt: skip
def test_what_lax_parsers_accept_is_refused(name: str, value: str) -> None:
    assert list(problems((name, value))) == [name]
    assert name in problems((name, value))


def test_the_client_writes_what_the_service_reads() -> None:
    asked = Listing(
        page=2,
        page_size=10,
        amount=Decimal("1E-7"),
        kinds=["evm", "sol"],
        term="é&=+",
        order="m1Xc7D",
        mainnet=True,
        since=datetime(2026, 11, 20, 14, 2, 11, 5000, tzinfo=UTC),
        address=None,
    )
    pairs = encode_query(asked)
    assert pairs == [
        ("page", "2"),
        ("pageSize", "10"),
        ("amount", "0.0000001"),
        ("kind", "evm"),
        ("kind", "sol"),
        ("term", "é&=+"),
        ("serviceId", "m1Xc7D"),
        ("mainnet", "true"),
        ("from", "2026-11-20T14:02:11.005Z"),
    ]
    assert parse_query(Listing, pairs) == asked
    assert encode_query(Listing()) == []


@given(
    st.builds(
        Listing,
        page=st.integers(1, 10_000),
        amount=st.none() | st.decimals(Decimal("1e-18"), Decimal("0.5"), places=18),
        kinds=st.none() | st.lists(st.from_regex(r"[a-z,]{1,16}", fullmatch=True), max_size=3),
        mainnet=st.none() | st.booleans(),
        since=st.none() | st.dates().map(lambda d: datetime(d.year, d.month, d.day, tzinfo=UTC)),
    )
)
def test_any_parameters_come_back(asked: Listing) -> None:
    read = parse_query(Listing, encode_query(asked))
    assert read == asked.model_copy(update={"kinds": asked.kinds or None})


@given(st.lists(st.tuples(st.sampled_from([*Listing.model_json_schema()["properties"], "x"]),
                          st.text(max_size=8)), max_size=6))  # fmt: skip
def test_any_query_string_is_read_or_every_name_in_it_explained(
    pairs: list[tuple[str, str]],
) -> None:
    found: dict[str, str] = {}
    try:
        parse_query(Listing, pairs)
    except QueryError as error:
        found = error.fields
    assert set(found) <= {name for name, _ in pairs}
    assert all(name != "x" or "x" in found for name, _ in pairs)


@each_row(
    ("kind", "bad"),
    [
        (QueryInteger, [True, 1.0, "x", None, 2**53]),
        (QueryNumber, [True, 1.0, "x", None, Decimal("NaN"), Decimal("1e999")]),
        (QueryBoolean, [1, 0, "1", None]),
        (QueryTime, [1, 1.0, datetime(2026, 1, 1), None]),
    ],
)
def test_native_values_of_another_kind_are_refused(kind: Any, bad: list[object]) -> None:
    for value in bad:
        with pytest.raises(ValidationError):
            TypeAdapter(kind).validate_python(value)
