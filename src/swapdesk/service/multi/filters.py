"""The filters of a group and of its orders, as routes are chosen by them (contract 9.2)."""

from __future__ import annotations

from dataclasses import replace

from swapdesk.service.errors import invalid
from swapdesk.service.quoting.eligibility import require_known
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.multi import LegProviders, MultiOrderRequest, RouteFilters


def check_filters(filters: RouteFilters | None, venues: Venues) -> None:
    """Raise VALIDATION_ERROR, with its path, for a provider that nobody is, or that is not
    routing where only routing ones help."""
    if filters is None:
        return
    if filters.only_swaps is not None:
        require_known("filters.onlySwaps", filters.only_swaps, venues, routing=True)
    for name, leg in (("inLeg", filters.in_leg), ("outLeg", filters.out_leg)):
        for side, codes in () if leg is None else leg:
            if codes is not None:
                require_known(f"filters.{name}.{side}", codes, venues, routing=False)


def merged(own: RouteFilters | None, group: RouteFilters | None) -> RouteFilters:
    """What holds for an order: of each filter its own, else the group's."""
    base = group or RouteFilters()
    if own is None:
        return base
    given = {name: getattr(own, name) for name in own.model_fields_set}
    return base.model_copy(update={name: one for name, one in given.items() if one is not None})


def choice_of(order: MultiOrderRequest, group: RouteFilters | None) -> RouteChoice:
    """Raises VALIDATION_ERROR for filters that no route could keep."""
    filters = merged(order.filters, group)
    only = None if filters.only_swaps is None else tuple(dict.fromkeys(filters.only_swaps))
    if not order.anonymous:
        return replace(EVERY_ROUTE, swaps=only)
    usual = EVERY_ROUTE
    return RouteChoice(
        in_included=_included(filters.in_leg, only, "inLeg"),
        in_excluded=_codes(filters.in_leg, "exclude"),
        out_included=_included(filters.out_leg, only, "outLeg"),
        out_excluded=_codes(filters.out_leg, "exclude"),
        use_xmr=order.use_xmr,
        rotate_payout_wallets=bool(filters.rotate_payout_wallets),
        deviation_threshold=(
            usual.deviation_threshold
            if filters.deviation_threshold is None
            else filters.deviation_threshold
        ),
        rotation_lookback=filters.rotation_lookback or usual.rotation_lookback,
    )


def _codes(leg: LegProviders | None, side: str) -> tuple[str, ...] | None:
    codes: list[str] | None = None if leg is None else getattr(leg, side)
    return None if codes is None else tuple(dict.fromkeys(codes))


def _included(
    leg: LegProviders | None, only: tuple[str, ...] | None, name: str
) -> tuple[str, ...] | None:
    included = _codes(leg, "include")
    if included is None or only is None:
        return included or only
    both = tuple(code for code in included if code in only)
    if not both:
        raise invalid(f"filters.{name}.include", "leaves nobody of onlySwaps", list(included))
    return both
