"""A service between the desk and the sandbox that changes what it passes on, frames of the order
stream as well as answers."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import urlsplit

import httpx2

from patience import PATIENCE
from plain_http import PLAIN

Change = Callable[[str, str, Any], Any]
"""Method, path and decoded answer in, the answer to give out."""
Rewrite = Callable[[str, str, int, bytes], bytes]
"""Method, path, status and body in, the body to give out."""

_TEXT = 0x81
"""The first byte of a whole text frame."""


@contextmanager
def lying_service(url: str, change: Change) -> Iterator[str]:
    """The address of a service that answers as the one at ``url`` does, changed."""

    def changed(method: str, path: str, status: int, body: bytes) -> bytes:
        if status != 200:
            return body
        return json.dumps(change(method, path, json.loads(body))).encode()

    with rewriting_service(url, changed) as lying:
        yield lying


@contextmanager
def rewriting_service(
    url: str, rewrite: Rewrite, frame: Callable[[bytes], bytes] = lambda frame: frame
) -> Iterator[str]:
    """As :func:`lying_service`, byte for byte: every body and every frame that a server sends."""
    origin = url.removesuffix("/v2")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.headers.get("upgrade", "").lower() == "websocket":
                self._stream()
            else:
                self._pass_on("GET", None)

        def do_POST(self) -> None:
            self._pass_on("POST", self.rfile.read(int(self.headers["content-length"])))

        def _pass_on(self, method: str, body: bytes | None) -> None:
            kept = ("authorization", "partner-id", "content-type", "accept")
            answer = httpx2.request(
                method,
                origin + self.path,
                content=body,
                headers={name: v for name in kept if (v := self.headers.get(name))},
                trust_env=False,
                timeout=PATIENCE,
                verify=PLAIN,
            )
            content = rewrite(method, self.path, answer.status_code, answer.content)
            self.send_response_only(answer.status_code)
            for name in ("content-type", "x-request-id", "retry-after"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            # A live service has the time of this machine, however far the sandbox's was moved.
            self.send_header("date", self.date_time_string())
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self) -> None:
            """The handshake without extensions, then both directions until either side ends."""
            self.close_connection = True
            place = urlsplit(origin)
            assert place.port is not None
            with (
                contextlib.suppress(OSError, EOFError),
                socket.create_connection(("127.0.0.1", place.port), 20) as there,
            ):
                there.settimeout(None)
                kept = [
                    f"{name}: {value}"
                    for name, value in self.headers.items()
                    if name.lower() not in ("host", "sec-websocket-extensions")
                ]
                head = [f"GET {self.path} HTTP/1.1", f"host: {place.netloc}", *kept, "", ""]
                there.sendall("\r\n".join(head).encode("latin-1"))
                heard = there.makefile("rb")
                while (line := heard.readline()) not in (b"\r\n", b""):
                    self.wfile.write(line)
                self.wfile.write(b"\r\n")
                threading.Thread(target=self._speak, args=(there,), daemon=True).start()
                while True:
                    self.wfile.write(_rewritten(heard, frame))

        def _speak(self, there: socket.socket) -> None:
            """What the client says goes on as it came."""
            with contextlib.suppress(OSError, ValueError):
                while said := self.rfile.read1(65536):
                    there.sendall(said)
            with contextlib.suppress(OSError):
                there.shutdown(socket.SHUT_RDWR)

        def log_message(self, *args: Any) -> None:
            """Quiet: what a command prints is what is tested."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v2"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed, or a sandbox that ended, is no failure of the test."""


def _rewritten(heard: IO[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """The next frame of a server (RFC 6455, 5.2: no mask), a text changed. Raises EOFError."""
    first, second = _exactly(heard, 2)
    size = second
    if second == 126:
        size = int.from_bytes(_exactly(heard, 2), "big")
    elif second == 127:
        size = int.from_bytes(_exactly(heard, 8), "big")
    body = _exactly(heard, size)
    if first == _TEXT:
        body = change(body)
    if len(body) < 126:
        return bytes([first, len(body)]) + body
    if len(body) < 1 << 16:
        return bytes([first, 126]) + len(body).to_bytes(2, "big") + body
    return bytes([first, 127]) + len(body).to_bytes(8, "big") + body


def _exactly(heard: IO[bytes], size: int) -> bytes:
    found = heard.read(size)
    if len(found) < size:
        raise EOFError
    return found
