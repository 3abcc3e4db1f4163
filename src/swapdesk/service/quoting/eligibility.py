"""Which venues may stand at which place of a route, as asked (contract 6.13 to 6.16)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swapdesk.service.errors import ServiceError
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice
from swapdesk.service.venues.adapter import FLOATING, Terms
from swapdesk.service.venues.registry import Venues
from swapdesk.service.venues.wrappers import GuardedVenue
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.quotes import LegFilters

_FILTERS = {
    "in_included": ("in_leg_included_swaps", "inLegIncludedSwaps"),
    "in_excluded": ("in_leg_excluded_swaps", "inLegExcludedSwaps"),
    "out_included": ("out_leg_included_swaps", "outLegIncludedSwaps"),
    "out_excluded": ("out_leg_excluded_swaps", "outLegExcludedSwaps"),
}


@dataclass(frozen=True)
class Eligible:
    """``choice`` names providers; ``terms`` leave out those that cannot keep them.

    ``markup_optional`` keeps venues that take no markup.
    """

    terms: Terms = FLOATING
    choice: RouteChoice = EVERY_ROUTE
    markup_optional: bool = False

    def able(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        """Those that can price on these terms."""
        marked = bool(self.terms.markup) and not self.markup_optional
        return [
            venue
            for venue in venues
            if (not self.terms.fixed or venue.traits.fixed)
            and (not marked or venue.provider.markup_supported)
        ]

    def direct(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        """For standard routes."""
        return _kept(self.able(venues), self.choice.swaps, None)

    def firsts(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        """For the leg that takes the deposit."""
        return _kept(self.able(venues), self.choice.in_included, self.choice.in_excluded)

    def seconds(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        """For the leg that pays the receiver: nobody has a refund address on the chain between."""
        trusting = [each for each in venues if not each.traits.requires_refund_address]
        return _kept(self.able(trusting), self.choice.out_included, self.choice.out_excluded)


def _kept(
    venues: list[GuardedVenue], included: tuple[str, ...] | None, excluded: tuple[str, ...] | None
) -> list[GuardedVenue]:
    if included is None and excluded is None:
        return venues
    return [
        venue
        for venue in venues
        if (included is None or venue.provider.short_name in included)
        and (excluded is None or venue.provider.short_name not in excluded)
    ]


def leg_filters(asked: LegFilters, venues: Venues) -> dict[str, tuple[str, ...] | None]:
    """The four filters by their names in RouteChoice; 422 for a code nobody has."""
    found: dict[str, tuple[str, ...] | None] = {}
    for name, (field, wire_name) in _FILTERS.items():
        codes: list[str] | None = getattr(asked, field)
        if codes is not None:
            require_known(wire_name, codes, venues, routing=False)
        found[name] = None if codes is None else tuple(dict.fromkeys(codes))
    return found


def require_known(field: str, codes: Iterable[str], venues: Venues, *, routing: bool) -> None:
    """422 on ``field`` for a code of no provider, or, when asked, of one that is not routing."""
    for code in codes:
        provider = venues.provider(code)
        if provider is None or (routing and not provider.enabled):
            unknown = provider is None
            what = "is no provider code" if unknown else "is a provider that is not routing"
            raise ServiceError(
                ErrorCode.VALIDATION_ERROR,
                "Validation Failed",
                fields={field: FieldProblem(message=what, value=code)},
            )
