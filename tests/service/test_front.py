"""Behind proxies: who calls, under which name, and where the service says that it is."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from corpus import Case, load
from plain_http import PLAIN
from rows import each_row
from service.http_calls import calling
from service.loopback import on_port
from service.test_paid_calls import TERMS, ScriptedFacilitator
from service.world import AS_FIRST
from swapdesk.clock import ManualClock
from swapdesk.sandbox.http_server import build_server
from swapdesk.sandbox.service_process import HostCheck
from swapdesk.service import rate_limits
from swapdesk.service.app import Onchain, build_service
from swapdesk.service.front import Front, network_of
from swapdesk.service.handlers import ServiceParts

PROXIES = tuple(map(network_of, ("10.0.0.0/8", "2001:db8:ffff::/48")))
HERE = Front(proxies=(network_of("127.0.0.1"),))


@each_row("case", load(name="forwarding"), ids=lambda case: case.id)
def test_what_proxies_tell(case: Case) -> None:
    headers = [
        (name.encode(), value.encode("latin-1", "replace")) for name, value in case.input["headers"]
    ]
    told = Front(proxies=PROXIES).told(case.input["peer"], headers)
    assert {name: getattr(told, name) for name in case.expect} == case.expect
    # Without proxies of ours nobody is believed.
    assert Front().told(case.input["peer"], headers).address is None


def test_a_proxy_is_an_address_or_a_network() -> None:
    front = Front(proxies=tuple(map(network_of, ("192.0.2.1", "198.51.100.0/24"))))
    inside = ["192.0.2.1", "198.51.100.200", "::ffff:192.0.2.1"]
    outside = ["192.0.2.2", "198.51.101.1", "", "192.0.2.1.example"]
    assert [front.trusts(each) for each in inside + outside] == [True] * 3 + [False] * 4
    for wrong in ("198.51.100.7/24", "a.example", ""):
        with pytest.raises(ValueError, match=r"host bits|does not appear"):
            network_of(wrong)


@asynccontextmanager
async def behind(parts: ServiceParts, front: Front, *hosts: str) -> AsyncIterator[str]:
    door = HostCheck(build_service(replace(parts, front=front)), frozenset(hosts), parts.clock)
    server = build_server(door, parts.clock, lifespan=True, front=front)
    async with on_port(server) as port:
        yield f"http://127.0.0.1:{port}{front.prefix}/v2"


@asynccontextmanager
async def caller(peer: str = "127.0.0.1") -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.AsyncHTTPTransport(local_address=peer, verify=PLAIN)
    async with httpx2.AsyncClient(transport=transport) as client:
        yield client


async def test_limits_of_an_address_count_the_client(
    service: ServiceParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "STRANGER_READS", 2)
    async with behind(service, HERE) as url, caller() as proxy, caller("127.0.0.2") as other:

        async def status(client: httpx2.AsyncClient, told: str) -> int:
            return (
                await client.get(f"{url}/chains", headers={"x-forwarded-for": told})
            ).status_code

        one = [await status(proxy, f"198.51.100.{n}, 203.0.113.7") for n in range(3)]
        assert one == [401, 401, 429]
        assert await status(proxy, "203.0.113.8") == 401
        six = [await status(proxy, str(ip_address("2001:db8::") + n)) for n in (1, 2, 2**63)]
        assert six == [401, 401, 429]
        assert await status(proxy, str(ip_address("2001:db8::") + 2**64)) == 401
        # Who is no proxy is counted itself, whatever it says.
        assert [await status(other, f"203.0.113.{n}") for n in (20, 21, 22)] == [401, 401, 429]


@each_row(
    ("host", "told", "status"),
    [
        ("127.0.0.1", "api.example", 200),
        ("api.example", "api.example:8443", 200),
        ("127.0.0.1", "rebound.example", 421),
        # A page whose name was made to point here may write the other header as it likes.
        ("rebound.example", "api.example", 421),
    ],
)
async def test_both_names_of_a_host_are_checked(
    service: ServiceParts, host: str, told: str, status: int
) -> None:
    headers = {**AS_FIRST, "host": host, "x-forwarded-host": told}
    async with behind(service, HERE, "API.example") as url, caller() as proxy:
        assert (await proxy.get(f"{url}/chains", headers=headers)).status_code == status


class TestPaid:
    @pytest.fixture
    def onchain(self) -> Onchain:
        return Onchain(payments=(TERMS, ScriptedFacilitator()))

    @pytest.mark.parametrize(
        ("public_url", "prefix", "asked"),
        [
            ("", "", "https://api.example:8443/v2"),
            ("", "/swap", "https://api.example:8443/swap/v2"),
            ("https://shop.example/desk", "", "https://shop.example/desk/v2"),
            ("https://shop.example/desk", "/swap", "https://shop.example/desk/v2"),
        ],
    )
    async def test_what_is_paid_for_has_the_address_of_callers(
        self, service: ServiceParts, public_url: str, prefix: str, asked: str
    ) -> None:
        front = replace(HERE, public_url=public_url, prefix=prefix)
        headers = {"x-forwarded-proto": "https", "x-forwarded-host": "api.example:8443"}
        async with behind(service, front, "api.example") as url, caller() as proxy:
            answer = await proxy.get(f"{url}/chains", headers=headers)
        required = json.loads(base64.b64decode(answer.headers["payment-required"]))
        assert required["resource"]["url"] == f"{asked}/chains"


@each_row("prefix", ["", "/a/swap"])
@each_row("public_url", ["", "https://shop.example"])
async def test_everything_stands_behind_the_prefix(
    service: ServiceParts, clock: ManualClock, prefix: str, public_url: str
) -> None:
    front = Front(public_url, prefix)
    async with calling(build_service(replace(service, front=front)), AS_FIRST) as api:
        root = "http://service"
        described: dict[str, Any] = (await api.get(f"{root}{prefix}/v2/openapi.json")).json()
        assert described["servers"] == [{"url": f"{public_url or prefix}/v2"}]
        told = (await api.get(f"{root}{prefix}/v2/ws")).json()
        assert "WebSocket handshake" in told["message"]
        for other in ("/v2/chains", "/swap/v2/chains", "/a/swap/a/swap/v2/chains"):
            assert (await api.get(root + other)).status_code == (
                200 if other == f"{prefix}/v2/chains" else 404
            )
