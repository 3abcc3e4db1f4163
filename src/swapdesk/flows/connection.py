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
"""The largest difference in seconds between this machine's clock and a live service's clock at
which orders may be created."""


def clock_problem(skew: float | None) -> str | None:
    """Returns the sentence that nothing can be created because the service's clock is ``skew``
    seconds ahead of this machine's (behind, if negative). None if the difference is small or
    unknown."""
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
    """The addresses and credentials of one service. ``control`` is the URL and token of the
    sandbox's control interface; None for a live service. ``chains`` are the chains that the sandbox
    runs; empty for a live service, whose nodes are in the configuration. ``makers`` has pairs of a
    provider in the sandbox and the key with which it signs its half of a swap. ``others`` are the
    credentials of the sandbox's other partners."""

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
    """Returns the connection to a running sandbox, as the sandbox's first PRO partner or, if the
    profile pays for its calls, as a caller without a key. ``ready`` is the document with URLs and
    keys that the sandbox states once it is ready."""
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
