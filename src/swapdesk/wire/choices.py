"""Choices that several nouns share; to name one, no models have to be imported."""

from enum import StrEnum


class RouteType(StrEnum):
    """The type of a route. A ``private`` route uses two hops, so that deposit and payout cannot be
    linked."""

    PRIVATE = "private"
    STANDARD = "standard"
    DEX = "dex"


class SortOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"
