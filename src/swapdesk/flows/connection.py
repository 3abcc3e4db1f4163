"""Where a desk connects to: a live service from its settings, or the sandbox of its home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from swapdesk.client.credentials import Credentials
from swapdesk.flows.notation import duration
from swapdesk.flows.wallet.chain_links import sandbox_links, sandbox_makers
from swapdesk.secret import Secret
from swapdesk.settings import Settings
from swapdesk.wallet.accounts import ChainLink

LIVE_SKEW_SECONDS = 120.0
"""Largest difference in seconds from a live service's clock for creating orders."""


def clock_problem(skew: float | None) -> str | None:
    """Returns why nothing can be created if the service's clock is ``skew`` seconds ahead (behind,
    if negative). None if the difference is small or unknown."""
    if skew is None or abs(skew) <= LIVE_SKEW_SECONDS:
        return None
    which = "behind" if skew > 0 else "ahead of"
    return (
        f"This machine's clock is {duration(abs(skew))} {which} the service's:"
        " nothing is created until it is right."
    )


class NotConfigured(Exception):
    """Raised if the profile cannot connect to a service. The message names the setting that is
    missing or wrong."""


class Connection(Struct, frozen=True):
    """The addresses and credentials of one service. ``control`` (URL and token) and ``chains``
    exist only for a sandbox. ``others`` are the credentials of the sandbox's other partners;
    ``makers`` are pairs of a provider and its signing key."""

    url: str
    credentials: Credentials
    partner: str
    control: tuple[str, Secret] | None = None
    chains: tuple[ChainLink, ...] = ()
    makers: tuple[tuple[str, str], ...] = ()
    others: tuple[Credentials, ...] = ()

    @property
    def read_only(self) -> bool:
        return not self.credentials.writes


PAYING = (Credentials(pays=True), "pays each call")


def live_connection(settings: Settings) -> Connection:
    """Returns the connection of a live profile. Raises NotConfigured if its settings are incomplete
    or contradict each other."""
    if settings.url.value is None:
        raise NotConfigured(f"profile {settings.profile.value} has no url")
    if settings.pay.value is not None:
        if settings.key.value is not None or settings.partner_id.value is not None:
            raise NotConfigured(
                f"profile {settings.profile.value} pays its calls, so it has no key and no"
                " partner_id: take out one of them"
            )
        credentials, partner = PAYING
    elif settings.key.value is not None and settings.secret.value is not None:
        credentials = Credentials.of_key(settings.key.value, settings.secret.value)
        partner = f"key …{settings.key.value[-4:]}"
    elif settings.partner_id.value is not None:
        credentials = Credentials.read_only(settings.partner_id.value)
        partner = "read only"
    elif settings.key.origin == "environment":
        raise NotConfigured("SWAPDESK_API_KEY needs SWAPDESK_API_SECRET")
    else:
        raise NotConfigured(
            f"profile {settings.profile.value} has no key with secret_file and no partner_id,"
            " and does not pay its calls"
        )
    if settings.profile.value in settings.profiles:
        # Whoever has several accounts calls them by the names of their profiles.
        partner = settings.profile.value
    return Connection(settings.url.value, credentials, partner, _attached(settings))


def sandbox_connection(ready: Mapping[str, Any], settings: Settings | None = None) -> Connection:
    """Returns the connection to a running sandbox, as its first PRO partner or, if the profile pays
    for its calls, without an API key."""
    partner, *others = (p for p in ready["partners"] if p["tier"] == "PRO")
    control = (str(ready["control"]), Secret(str(ready["controlToken"])))
    credentials = Credentials.of_key(str(partner["apiKey"]), str(partner["apiSecret"]))
    name = str(partner.get("name") or partner["partnerId"])
    if settings is not None and settings.pay.value is not None:
        credentials, name = PAYING
    return Connection(
        url=str(ready["url"]),
        credentials=credentials,
        partner=name,
        control=(_attached(settings) if settings else None) or control,
        chains=sandbox_links(ready),
        makers=sandbox_makers(ready),
        others=tuple(
            Credentials.of_key(str(other["apiKey"]), str(other["apiSecret"])) for other in others
        ),
    )


def _attached(settings: Settings) -> tuple[str, Secret] | None:
    if settings.control_url.value is None or settings.control_token.value is None:
        return None
    return settings.control_url.value, settings.control_token.value
