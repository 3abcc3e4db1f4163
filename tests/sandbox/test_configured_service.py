"""``serve --config``: a service whose chain is that of a sandbox elsewhere, and broken files."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from eth_account import Account

from cli.desks import run_here
from databases import Cluster
from forked_processes import in_fresh_interpreters
from harness import Result, children, environment, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from rows import each_row
from sandbox.chain_money import chain_of
from sandbox.running import Running
from sandbox.service_files import BASE, CONTRACTS, written
from sandbox.test_paid_calls import USDC, Payer, give, told
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.clock import SystemClock
from swapdesk.paths import write_private
from swapdesk.sandbox.evm_world.genesis import (
    TREASURY,
    address_of,
    parties_of,
    wrapped_native,
)
from swapdesk.sandbox.partner_keys import load_key, partner_keys
from swapdesk.sandbox.processes import listen
from swapdesk.sandbox.service_process import build_partners
from swapdesk.service.access import StoredPartner
from swapdesk.service.store.database import Place
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.store import Store

LACKING = """
[venues.kraken]
kind = "exchange"
required = {required}
[venues.is]
kind = "isthmus"
contract = "{contract}"
required = {required}
pools = []
"""
HTTP = """
[http]
public_url = "https://api.shop.example/swap"
prefix = "/behind"
trusted_proxies = ["127.0.0.0/8"]
"""


@contextmanager
def served(home: Path, file: Path, *more: str, command: str = "serve") -> Iterator[dict[str, Any]]:
    """The line that the service prints; it ends cleanly. Its log is in ``log`` of the home."""
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk", command, "--config", str(file), *more],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        yield ready
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def chain(running: Running) -> dict[str, Any]:
    return next(each for each in running.ready.chains if each["shortName"] == "base")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configured")


@pytest.fixture(scope="module")
def ready(home: Path, chain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lacking = LACKING.format(required="false", contract=CONTRACTS["is"])
    watched = "[metrics]\nport = 0\n[log]\naddresses = true\n"
    file = written(home, chain["rpc"], chain["chainId"], lacking + HTTP + watched)
    with ExitStack() as ends:
        with in_fresh_interpreters():
            line = ends.enter_context(served(home, file))
        yield line


@pytest.fixture(scope="module")
def api(ready: dict[str, Any], home: Path) -> Iterator[httpx2.Client]:
    """With the key of a partner who is made while the service runs."""
    at = ("--data", str(home / "data"), "--json")
    made = run_here("partner", "create", "Shop", "--tier", "PRO", *at, home=home)
    assert made.code == 0, made.stderr
    new = json.loads(made.stdout)
    key = {"Authorization": f"{new['apiKey']}:{new['apiSecret']}"}
    with httpx2.Client(
        base_url=ready["url"], headers=key, trust_env=False, timeout=PATIENCE, verify=PLAIN
    ) as client:
        wait_for(lambda: client.get("/rateLimits").status_code == 200, what="the key is taken")
        yield client


def test_the_line_of_a_service_says_what_it_serves(ready: dict[str, Any], home: Path) -> None:
    assert ready["schemaVersion"] == 1
    assert (ready["chains"], ready["venues"]) == (["base"], ["ba"])
    assert ready["leftOut"] == ["kraken", "is"]
    assert ready["url"].endswith("/behind/v2")
    assert ready["publicUrl"] == "https://api.shop.example/swap/v2"
    told = [json.loads(line).get("message", "") for line in (home / "log").read_text().splitlines()]
    (kraken, _) = [each for each in told if each.startswith("left out: ")]
    assert kraken.startswith("left out: venues.kraken: kraken (exchange) lacks an adapter")


@each_row(
    ("host", "status"), [("api.shop.example", 200), ("API.shop.example", 200), ("other", 421)]
)
def test_callers_come_by_the_public_name(api: httpx2.Client, host: str, status: int) -> None:
    for header in ("Host", "X-Forwarded-Host"):
        assert api.get("/chains", headers={header: host}).status_code == status


def test_the_catalogue_is_what_the_pools_trade(api: httpx2.Client) -> None:
    assert [chain["shortName"] for chain in api.get("/chains").json()["chains"]] == ["base"]
    tokens = api.get("/tokens", params={"pageSize": 100}).json()["tokens"]
    assert {BASE["ETH"].token_id, BASE["USDC"].token_id} <= {token["id"] for token in tokens}
    assert all(token["hasDex"] and not token["hasCex"] for token in tokens)
    assert all(token["modified"] == token["created"] for token in tokens), "in every process"
    assert [venue["shortName"] for venue in api.get("/swaps").json()] == ["ba"]


def test_a_swap_is_quoted_and_ordered(api: httpx2.Client, running: Running) -> None:
    """By an account that has coins on the sandbox's chain; a swap that would fail is refused."""
    sender = parties_of(load_key(running.data))[TREASURY]
    pair = {"from": BASE["ETH"].token_id, "to": BASE["USDC"].token_id, "amount": "0.5"}
    answer = api.get("/quotes", params={**pair, "types": "dex", "senderAddress": sender}).json()
    (quote,) = [each for each in answer["quotes"] if "quoteId" in each]
    assert quote["swap"] == "ba"
    body = {"quoteId": quote["quoteId"], "addressTo": sender, "addressFrom": sender}
    created = api.post("/exchanges", json=body)
    assert created.status_code in (200, 201), created.text
    order = created.json()
    assert order["metadata"]["to"] == CONTRACTS["ba"]
    assert api.get(f"/orders/{order['serviceId']}").json()["serviceId"] == order["serviceId"]
    early = {"id": order["serviceId"], "txHash": "0x" + "00" * 32}
    assert api.post("/dex/confirmTx", json=early).json() is not True, "nothing was sent"


def test_an_operator_sees_the_service(
    ready: dict[str, Any], home: Path, api: httpx2.Client
) -> None:
    """Whether it is ready, on both ports; the request in the metrics and in a line of the log."""
    answer = api.get("/ready")
    assert answer.status_code == 200
    assert answer.json()["nodes"] == {"base": "ok"}
    beside = httpx2.URL(ready["metrics"])
    with httpx2.Client(trust_env=False, timeout=PATIENCE) as operator:
        assert operator.get(beside.copy_with(path="/ready")).json()["status"] == "ready"
        exposed = operator.get(beside).text
        assert 'swapdesk_requests_total{operation="ready",status="200"}' in exposed
        assert 'swapdesk_node_up{chain="base"} 1.0' in exposed
        elsewhere = operator.get(beside, headers={"host": "attacker.example"})
        assert elsewhere.status_code == 421
    # What the command says before the service starts is plain.
    written = [line for line in (home / "log").read_text().splitlines() if line.startswith("{")]
    (seen,) = [
        line
        for line in map(json.loads, written)
        if line.get("requestId") == answer.headers["x-request-id"]
    ]
    assert (seen["operation"], seen["status"], seen["address"]) == ("ready", 200, "127.0.0.1")


PAYMENTS = """
[payments]
chain = "base"
token = "{token}"
pay_to = "0x{to}"
wallet_file = "wallet"
"""


def paid_file(place: Path, chain: dict[str, Any], token: str, key: bytes = b"g" * 32) -> Path:
    write_private(place / "wallet", key.hex().encode())
    payments = PAYMENTS.format(token=token, to="33" * 20)
    return written(place, chain["rpc"], chain["chainId"], payments)


def test_calls_are_paid_in_a_token_of_the_chain(
    running: Running, chain: dict[str, Any], tmp_path: Path
) -> None:
    """By another implementation of the protocol; the wallet of the file pays the gas."""
    base, payee = chain_of(running, "base"), checksummed("0x" + "33" * 20)
    relayer = Account.from_key(b"g" * 32).address
    give(running, relayer, 1)
    file = paid_file(tmp_path, chain, checksummed(USDC.address or ""))
    with served(tmp_path, file) as ready:
        payer = Payer(running, b"o" * 32, 1, ready["url"])
        wait_for(lambda: payer.balance(base) == 10**6, what="the dollars")
        wait_for(lambda: int(base("eth_getBalance", relayer, "latest"), 16) > 0, what="the gas")
        asked = payer.http.get("/tokens")
        assert asked.status_code == 402
        (terms,) = told(asked, "payment-required")["accepts"]
        assert terms == {
            "scheme": "exact",
            "network": f"eip155:{chain['chainId']}",
            "amount": "100",
            "asset": USDC.address,
            "payTo": payee,
            "maxTimeoutSeconds": 60,
            "extra": {"name": "USD Coin", "version": "2"},
        }
        paid = payer.call("GET", "/tokens")
        assert paid.status_code == 200, told(paid, "payment-required")
        receipt = base.receipt(told(paid, "payment-response")["transaction"])
        assert (receipt["status"], receipt["from"]) == ("0x1", relayer)
        assert (payer.balance(base), base.balance(USDC, payee)) == (10**6 - 100, 100)


def refused(home: Path, file: Path, *words: str) -> Result:
    result = run_here("serve", "--config", str(file), *words, "--json", home=home)
    assert result.code == 2, result.stdout
    assert "Traceback" not in result.stderr
    return result


def test_a_node_of_another_chain_is_refused(chain: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, chain["rpc"], 8453)
    error = refused(tmp_path, file).error
    assert error["code"] == "CONFIG"
    number = next(n for n, line in enumerate(file.open(), 1) if line.startswith("chain_id"))
    assert f"service.toml:{number}: chains.base.chain_id is 8453" in error["message"]
    assert error["money"] == "where it was; this process does nothing"
    assert error["next"] == "you: put right what the message names, and start it again"


def test_a_token_that_calls_cannot_be_paid_in_is_refused(
    chain: dict[str, Any], tmp_path: Path
) -> None:
    """The wrapped coin takes no signed transfers. Where the node is silent nobody knows."""
    file = paid_file(tmp_path, chain, checksummed(address_of(wrapped_native("base"))))
    assert "takes no signed transfers (EIP-3009)" in refused(tmp_path, file).error["message"]
    file.write_text(file.read_text().replace(chain["rpc"], "http://127.0.0.1:1"))
    said = refused(tmp_path, file).error["message"]
    assert "payments: the node of base cannot be asked about the token" in said


def test_what_a_venue_lacks_is_listed_before_anything_starts(tmp_path: Path) -> None:
    lacking = LACKING.format(required="true", contract=CONTRACTS["is"])
    error = refused(tmp_path, written(tmp_path, "http://127.0.0.1:1", 1, lacking)).error
    assert error["code"] == "VENUES_MISSING"
    kraken, isthmus = (error["fields"][f"venues.{code}"]["message"] for code in ("kraken", "is"))
    assert "an adapter" in kraken
    assert "credentials_file" in kraken
    assert "wallet_file" in isthmus
    assert not (tmp_path / "data").exists()


GOOD = 'data = "data"\nport = 0\n[chains.base]\nrpc = "http://127.0.0.1:1"\nchain_id = 1\n'
GOOD += f'wrapped = "0x{"11" * 20}"\n'
PAID = f"{GOOD}{PAYMENTS.format(token='0x' + '44' * 20, to='33' * 20)}"
URL = "postgresql://u@h:5432,g:5433/d"


@pytest.fixture
def zero(tmp_path: Path) -> Path:
    """The file of a key that is none."""
    path = tmp_path / "zero"
    write_private(path, b"0" * 64)
    return path


STORE = GOOD + '[store]\nurl = "{}"\n'
VENUE = f'{GOOD}[venues.ba]\nkind = "basalt"\ncontract = "0x{"22" * 20}"\n'


@each_row(
    ("content", "said"),
    [
        ("data = ", "service.toml:1: is no TOML"),
        ("data = 7\nport = 0\n[chains]\n", "service.toml:1: data must be the path"),
        ("port = 0\n[chains]\n", "service.toml:2: data is missing above the first table"),
        (VENUE.replace('data = "data"\n', "") + "data = 7\n", "service.toml:2: data is missing"),
        ('data = "data"\n', "service.toml: port is missing above the first table"),
        ('data = "data"\n', "service.toml: chains must be tables: [chains.base]"),
        (GOOD.replace("port = 0", "port = 65536"), "service.toml:2: port must be a port"),
        (GOOD.replace("port = 0", "port = true"), "service.toml:2: port must be a port"),
        (GOOD.replace("port", "prot"), "service.toml:2: prot is unknown; did you mean port?"),
        (f'hosts = ["http://a"]\n{GOOD}', "service.toml:1: hosts must be a list of names"),
        (f'dialect = "other"\n{GOOD}', "service.toml:1: dialect must be contract or vendor"),
        (f'intermediaries = ["XMR"]\n{GOOD}', "service.toml:1: intermediaries must be a list"),
        (GOOD.replace("base", "bse"), "chains.bse is no EVM chain of the catalogue"),
        (GOOD.replace("http:", "ftp:"), "service.toml:4: chains.base.rpc must be the http"),
        (GOOD.replace("chain_id = 1", "chain_id = -1"), "service.toml:5: chains.base.chain_id"),
        (GOOD.replace('"0x11', '"0x1'), "service.toml:6: chains.base.wrapped must be an EVM"),
        (f"{GOOD}confirmations = 0\n", "service.toml:7: chains.base.confirmations must be"),
        (f"{GOOD}[venues.ba]\n", "service.toml:7: venues.ba.kind is missing"),
        (f'{GOOD}[venues.ba]\nkind = "uniswap"\n', "service.toml:8: venues.ba.kind must be one"),
        (f'{GOOD}[venues."B A"]\nkind = "basalt"\n', "must be 2 to 8 small letters"),
        (VENUE, "venues.ba.pools is missing"),
        (f"{VENUE}pools = [7]\n", "service.toml:10: venues.ba.pools must be a list of"),
        (f'{VENUE}pools = [{{chain = "base"}}]\n', "venues.ba.pools 1.address is missing"),
        (PAID, "service.toml:12: payments.wallet_file is of no use: "),
        (PAID.replace('"wallet"', '"zero"'), "zero does not hold the key of an account"),
        (PAID.replace('"base"', '"bse"'), "service.toml:9: payments.chain names bse, which is"),
        (PAID.replace("0x44", "44"), "service.toml:10: payments.token must be an EVM address"),
        (PAID.replace("pay_to", "payto"), "payto is unknown; did you mean pay_to?"),
        (PAID.replace("wallet_file", "#"), "service.toml:8: payments.wallet_file is missing"),
        (f"payments = true\n{GOOD}", "service.toml:1: payments must be a table"),
        (f'{GOOD}[log]\nlevel = "loud"\n', "service.toml:8: log.level must be one of debug,"),
        (f"{GOOD}[log]\naddresses = 1\n", "service.toml:8: log.addresses must be true or false"),
        (f"{GOOD}[metrics]\n", "service.toml:7: metrics.port is missing"),
        (f"{GOOD}[metrics]\nport = -1\n", "service.toml:8: metrics.port must be a port"),
        (f"{GOOD}[http]\nurl = 7\n", "service.toml:8: http.url is unknown"),
        *(
            (f'{GOOD}[http]\npublic_url = "{url}"\n', "service.toml:8: http.public_url must be")
            for url in ("a.example", "https://a/", "https://u@a", "https://a?b", "https://a/b/../?")
        ),
        *(
            (f'{GOOD}[http]\nprefix = "{prefix}"\n', "service.toml:8: http.prefix must begin")
            for prefix in ("swap", "/", "/swap/", "//swap", "/a%2fb")
        ),
        *(
            (f"{GOOD}[http]\ntrusted_proxies = {those}\n", "service.toml:8: http.trusted_proxies")
            for those in ('"10.0.0.1"', '["10.0.0.1/8"]', '["proxy"]', "[7]")
        ),
        (f"{GOOD}venues = 7\n", "chains.base.venues is unknown"),
        ("\x00", "is no TOML"),
        (STORE.format("mysql://h/d"), "service.toml:8: store.url must be postgresql://USER@HOST"),
        (STORE.format("postgresql://u:pw@h/d"), "service.toml:8: store.url must not hold the"),
        (STORE.format("postgresql://u@h/d?password=pw"), "store.url must be postgresql://USER@"),
        (STORE.format("postgresql://u@h/d?sslmode=disable"), "store.url must be postgresql://"),
        (STORE.format("postgresql://[/d"), "service.toml:8: store.url must be postgresql://USER"),
        (STORE.format(URL) + 'password_file = "zero"\ntls = "no"\n', ":10: store.tls must be"),
        (STORE.format(URL) + 'password_file = "none"\n', ":9: store.password_file is of no use:"),
        (STORE.format(URL) + 'password_file = "service.toml"\n', "service.toml is open to other"),
        (STORE.format(URL) + 'ca_file = "zero"\n', "store.ca_file verifies nothing without tls"),
        (STORE.format(URL) + 'ca_file = "zero"\ntls = "verify-full"\n', "ca_file is of no use: "),
        (STORE.format(URL) + "connections = 1\n", ":9: store.connections must be a number from"),
        (f"{GOOD}[store]\n", "service.toml:7: store.url is missing"),
    ],
)
def test_a_broken_file_names_line_and_key(zero: Path, content: str, said: str) -> None:
    file = zero.with_name("service.toml")
    file.write_text(content)
    error = refused(file.parent, file).error
    assert error["code"] == "CONFIG"
    assert said in error["message"]
    assert "pw" not in error["message"]


def test_options_beside_a_file_and_no_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    assert "there is no such file" in refused(tmp_path, file).error["message"]
    file.write_text(GOOD)
    assert "--seed" in refused(tmp_path, file, "--seed", "0").error["message"]
    assert "--name" in refused(tmp_path, file, "--name", "a.example").error["message"]
    named = run_here("serve", "--sandbox", "--name", "http://a", "--json", home=tmp_path)
    assert "'http://a' is no name of a host" in named.error["message"]
    file.chmod(0o666)
    assert refused(tmp_path, file).error["code"] == "CONFIG"


def test_a_port_that_another_process_has_is_named_with_the_option_for_another(
    tmp_path: Path,
) -> None:
    """As two processes of one machine have it that share a file."""
    file = tmp_path / "service.toml"
    file.write_text(f"{GOOD}[metrics]\nport = 0\n")
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        for option, line in (("--port", 2), ("--metrics-port", 8)):
            said = refused(tmp_path, file, option, port).error["message"]
            assert f"service.toml:{line}: " in said
            assert f"127.0.0.1:{port}: Address already in use" in said
            assert f"give this process a port of its own with {option}." in said
    file.write_text(f'bind = "192.0.2.1"\n{GOOD}')
    said = refused(tmp_path, file).error["message"]
    assert "service.toml:1: bind: 192.0.2.1:0: " in said
    alone = run_here("serve", "--sandbox", "--metrics-port", "0", "--json", home=tmp_path)
    assert (alone.code, alone.error["code"]) == (2, "USAGE")


@pytest.fixture
def database() -> str:
    """The URL of an empty one."""
    cluster = Cluster.of_run()
    return cluster.url(cluster.empty_database(0))


def test_a_service_stands_over_postgresql(
    chain: dict[str, Any], database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a password that nothing shows. A service that means another chain by the same name is
    refused, and so is one whose database is not there."""
    monkeypatch.setenv("SWAPDESK_STORE_PASSWORD", "hidden-word")
    store = f'[store]\nurl = "{database}"\n'
    file = written(tmp_path, chain["rpc"], chain["chainId"], store)
    file.write_text(file.read_text().replace('data = "data"\n', ""))
    with served(tmp_path, file) as ready:
        asked = httpx2.get(f"{ready['url']}/tokens", trust_env=False, verify=PLAIN)
        assert asked.status_code == 401, asked.text
        assert "hidden-word" not in Path(f"/proc/{ready['pid']}/cmdline").read_text()
    file.write_text(f"{GOOD}{store}")
    said = refused(tmp_path, file).error["message"]
    assert f"chain base is {chain['chainId']} there, and 1 here" in said
    file.write_text(file.read_text().replace(database, "postgresql://u@/d?host=/nowhere"))
    result = refused(tmp_path, file)
    assert "store: postgresql://u@/d?host=/nowhere: " in result.error["message"]
    assert "hidden-word" not in result.stdout + result.stderr


def test_partners_are_kept_in_postgresql(tmp_path: Path, database: str) -> None:
    """By the file of the service, which need not run; what cannot be reached says so."""
    file = tmp_path / "service.toml"
    file.write_text(f'{GOOD}[store]\nurl = "{database}"\n')
    at = ("--config", str(file), "--json")
    made = run_here("partner", "create", "Shop", *at, home=tmp_path)
    assert made.code == 0, made.stderr
    for command in (("tier", "Shop", "PRO"), ("suspend", "Shop"), ("sums",)):
        done = run_here("partner", *command, *at, home=tmp_path)
        assert done.code == 0, done.stderr
    account = run_here("partner", "show", "Shop", *at, home=tmp_path).document["partner"]
    assert (account["tier"], account["suspended"]) == ("PRO", True)
    changes = run_here("partner", "audit", *at, home=tmp_path).document["changes"]
    assert [each["action"] for each in changes] == ["suspend", "tier PRO", "create"]
    assert {each["partner"] for each in changes} == {"Shop"}
    assert not (tmp_path / "data").exists()
    # The connection is cut while the change is committed.
    asyncio.run(cutting_commits(database))
    cut = run_here("partner", "tier", "Shop", "FREE", *at, home=tmp_path)
    assert (cut.code, cut.error["code"]) == (8, "OUTCOME_UNKNOWN")
    assert "not known" in cut.error["money"]
    file.write_text(f'{GOOD}[store]\nurl = "postgresql://u@/d?host=/nowhere"\n')
    for command in (("tier", "Shop", "FREE"), ("list",)):
        away = run_here("partner", *command, *at, home=tmp_path)
        assert (away.code, away.error["code"]) == (7, "NO_ANSWER")
        assert "no account was changed" in away.error["money"]
        assert "The database postgresql://u@/d?host=/nowhere does" in away.error["message"]


async def cutting_commits(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(
        "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';"
        " CREATE CONSTRAINT TRIGGER cut AFTER UPDATE ON partners"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()"
    )
    await connection.close()


def test_workers_beside_a_service_are_started_again_and_end_with_it(
    running: Running, chain: dict[str, Any], database: str, tmp_path: Path
) -> None:
    """And what is due is carried out by them, or by one that was started by itself."""
    cluster = Cluster.of_run()
    store = f'[store]\nurl = "{database}"\nconnections = 3\n'
    file = written(tmp_path, chain["rpc"], chain["chainId"], store)
    keys = partner_keys(load_key(running.data))

    def make_due() -> None:
        cluster.run(rows_of(database, "UPDATE orders SET due_at = 0"))

    def looked_at() -> bool:
        return bool(cluster.run(rows_of(database, "SELECT 1 FROM orders WHERE due_at > 0")))

    cluster.run(adding(database, build_partners(keys[:1], SystemClock().now())))
    sender = parties_of(load_key(running.data))[TREASURY]
    pair = {"from": BASE["ETH"].token_id, "to": BASE["USDC"].token_id, "amount": "0.5"}
    with served(tmp_path, file, "--workers", "0") as ready:
        assert children(ready["pid"]) == []
        key = {"Authorization": f"{keys[0].api_key}:{keys[0].api_secret}"}
        with httpx2.Client(
            base_url=ready["url"], headers=key, trust_env=False, timeout=PATIENCE, verify=PLAIN
        ) as client:
            asked = {**pair, "types": "dex", "senderAddress": sender}
            (quote,) = client.get("/quotes", params=asked).json()["quotes"]
            body = {"quoteId": quote["quoteId"], "addressTo": sender, "addressFrom": sender}
            assert client.post("/exchanges", json=body).status_code == 200
        make_due()
        with served(tmp_path, file, command="worker") as line:
            assert (line["chains"], line["venues"]) == (["base"], ["ba"])
            wait_for(looked_at, "a worker by itself")
    make_due()
    with served(tmp_path, file, "--workers", "1") as ready:
        wait_for(looked_at, "a worker beside")
        (worker,) = children(ready["pid"])
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: worker not in children(ready["pid"]), what="the end of the worker")
        (another,) = wait_for(lambda: children(ready["pid"]), what="another worker")
    wait_for(lambda: not Path(f"/proc/{another}").exists(), what="the end of all")


TAKEN_BY_NEWER = f"UPDATE schema_version SET number = {VERSION + 1}, serves_from = {VERSION + 1}"  # noqa: S608 - numbers of ours


def test_processes_end_where_a_newer_release_takes_their_database(
    chain: dict[str, Any], database: str, tmp_path: Path
) -> None:
    """And say so in the words of a start on it."""
    file = written(tmp_path, chain["rpc"], chain["chainId"], f'[store]\nurl = "{database}"\n')
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "swapdesk", command, "--config", str(file)],
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in ("serve", "worker")
    ]
    for each in processes:
        assert json.loads(each.stdout.readline())["pid"] == each.pid
    Cluster.of_run().run(rows_of(database, TAKEN_BY_NEWER))
    for each in processes:
        _, said = each.communicate(timeout=PATIENCE)
        assert each.returncode == 2, said
        assert f"{database}: it has schema {VERSION + 1}, this release knows" in said


async def rows_of(database: str, query: str) -> list[Any]:
    connection = await asyncpg.connect(database)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


async def adding(database: str, partners: list[StoredPartner]) -> None:
    store = await Store.connect(Place(database))
    await store.partners.add_missing(partners)
    await store.close()


def test_several_processes_over_one_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(GOOD)
    for words in (("serve", "--workers", "2"), ("worker",)):
        result = run_here(*words, "--config", str(file), "--json", home=tmp_path)
        assert (result.code, result.error["code"]) == (2, "CONFIG")
        assert "several processes need [store] with a PostgreSQL" in result.error["message"]
    alone = run_here("serve", "--sandbox", "--workers", "2", "--json", home=tmp_path)
    assert (alone.code, alone.error["code"]) == (2, "USAGE")


def test_a_damaged_store_is_restored_from_a_backup(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(GOOD)
    (tmp_path / "data").mkdir(0o700)
    write_private(tmp_path / "data" / "service.db", b"this is no database" * 1000)
    said = refused(tmp_path, file).error["message"]
    assert "service.toml:1: data: the file is damaged, restore a backup of it: " in said


def test_an_intermediary_that_no_pool_trades_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(f'intermediaries = ["XMR.monero"]\n{GOOD}')
    assert "XMR.monero is not traded" in refused(tmp_path, file).error["message"]
