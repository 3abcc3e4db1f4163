"""The credentials of the desk for a service, and the check of the one origin that they may be sent
to (contract 2.1, 2.2)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Generator

import httpx2
from msgspec import Struct

from swapdesk.secret import Secret

VERSION_PATH = "/v2"
_HOST = re.compile(rb"[A-Za-z0-9._:-]+")


class CredentialsError(ValueError):
    """Raised if credentials are malformed, or if a service address must not be used for
    requests."""


class Credentials(Struct, frozen=True):
    """The credentials for a service: an API key with its secret, a partner id (read-only), or
    neither. If ``pays`` is True, each call is paid for instead (contract 2.4)."""

    api_key: str | None = None
    api_secret: Secret | None = None
    partner_id: str | None = None
    pays: bool = False

    def __post_init__(self) -> None:
        if (self.api_key is None) != (self.api_secret is None):
            raise CredentialsError("an API key and its secret belong together")
        key, partner = self.api_key, self.partner_id
        secret = self.api_secret.reveal() if self.api_secret is not None else None
        for name, value in (("key", key), ("secret", secret), ("partner id", partner)):
            if value is None:
                continue
            if not value or not value.isascii() or not value.isprintable() or " " in value:
                raise CredentialsError(f"the {name} must be printable ASCII without blanks")
        if key is not None and ":" in key:
            raise CredentialsError("the key must not hold a colon")

    @classmethod
    def of_key(cls, api_key: str, api_secret: str | Secret) -> Credentials:
        secret = api_secret if isinstance(api_secret, Secret) else Secret(api_secret)
        return cls(api_key=api_key, api_secret=secret)

    @classmethod
    def read_only(cls, partner_id: str) -> Credentials:
        return cls(partner_id=partner_id)

    @property
    def writes(self) -> bool:
        return self.api_key is not None or self.pays

    def headers(self) -> dict[str, str]:
        """Returns the header with the credentials; empty if there are none."""
        if self.api_key is not None and self.api_secret is not None:
            return {"Authorization": f"{self.api_key}:{self.api_secret.reveal()}"}
        return {"partner-id": self.partner_id} if self.partner_id is not None else {}

    def secrets(self) -> tuple[str, ...]:
        """Returns the texts in these credentials that must be neither stored nor shown."""
        secret = self.api_secret.reveal() if self.api_secret is not None else None
        return tuple(text for text in (secret, self.api_key) if text is not None)

    def __repr__(self) -> str:
        if self.api_key is not None:
            return f"Credentials(key …{self.api_key[-4:] if len(self.api_key) > 8 else ''})"
        return "Credentials(partner-id ***)" if self.partner_id is not None else "Credentials()"


def service_url(base_url: str) -> httpx2.URL:
    """Returns the checked address of the API, ending in ``/v2``. Raises CredentialsError unless it
    begins with ``https://``, or with ``http://`` for this machine."""
    try:
        url = httpx2.URL(base_url)
    except (httpx2.InvalidURL, ValueError):
        raise CredentialsError("the service URL is no URL") from None
    if url.scheme not in ("http", "https") or _HOST.fullmatch(url.raw_host) is None:
        raise CredentialsError("the service URL must begin with https://")
    if url.userinfo or url.query or url.fragment:
        raise CredentialsError("the service URL has no user, query or fragment")
    if url.scheme == "http" and not is_loopback(url.host):
        raise CredentialsError("http:// is for this machine only; use https://")
    path = url.path.rstrip("/")
    return url.copy_with(path=path if path.endswith(VERSION_PATH) else path + VERSION_PATH)


def is_loopback(host: str) -> bool:
    """Returns True if a host name or address is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def origin_of(url: httpx2.URL) -> tuple[str, str, int | None]:
    port = url.port or {"https": 443, "http": 80}.get(url.scheme)
    return url.scheme, url.host, port


class OriginAuth(httpx2.Auth):
    """An httpx2 authentication that adds the credentials to requests to one origin only."""

    def __init__(self, credentials: Credentials, url: httpx2.URL) -> None:
        self._credentials = credentials
        self._origin = origin_of(url)

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        if origin_of(request.url) == self._origin:
            request.headers.update(self._credentials.headers())
        yield request
