"""The server of the live page: one request for each connection, short ones only, from this machine alone."""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import socket
import socketserver
import threading
import time
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from tightrope.errors import UsageError
from tightrope.live.access import ADDRESS, Door
from tightrope.live.pages import Pages, kind_of
from tightrope.live.served_runs import ServedRun, ServedRuns
from tightrope.live.state import State

MOST_CONNECTIONS = 32
LONGEST_REQUEST = 16 * 1024
SECONDS_TO_ASK, SECONDS_TO_TAKE = 5.0, 30.0
"""For a client to send its request, and to take the whole answer; one that hangs is left."""
HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
ROUTE = re.compile(r"/[^/]+/(?:runs/(?P<run>[0-9a-f]{12})/)?(?:(?P<state>state\.json)|videos/(?P<film>[^/]+))?")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: 'self'; media-src data: 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
"""With every answer: what the report's own policy says, its questions to this server, and nothing for anybody else."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """What is sent back."""

    status: HTTPStatus = HTTPStatus.OK
    kind: str = TEXT
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def open_server(
    served: ServedRuns, port: int | None, *, key: str | None = None, state: State | None = None
) -> LiveServer:
    """A server on a port of this machine, or on any free one; it listens, and answers once it is told to."""
    try:
        return LiveServer(served, port or 0, key or secrets.token_urlsafe(16), state or State())
    except OSError as error:
        raise UsageError(
            f"--port {port} cannot be used ({error.strerror or error}); leave it out for a free one"
        ) from error


class LiveServer(socketserver.ThreadingTCPServer):
    """Listens on 127.0.0.1 and answers what the door lets in."""

    daemon_threads = True
    block_on_close = False
    # Elsewhere it would let another program listen on the same port.
    allow_reuse_address = os.name == "posix"
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, served: ServedRuns, port: int, key: str, state: State) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.served, self.pages, self.state = served, Pages(served=served), state
        self.door = Door(port=self.server_address[1], key=key)
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._finding = threading.Lock()

    @property
    def url(self) -> str:
        """The address of the list of runs."""
        return f"http://{ADDRESS}:{self.door.port}/{self.door.key}/"

    def url_of(self, place: ServedRun) -> str:
        """The address of one run."""
        return f"{self.url}runs/{place.id}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, unless too many are being answered."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone, or a request that cannot be answered, is nobody's concern on the terminal."""

    def answer(self, method: str, target: str, headers: Message) -> Response:
        """What a request gets."""
        path, _, query = target.partition("?")
        refused = self.door.refusal(method, path, headers)
        if refused is not None:
            allow = {"Allow": "GET, HEAD"} if refused.status is HTTPStatus.METHOD_NOT_ALLOWED else {}
            return Response(status=refused.status, content=f"{refused.reason}\n".encode(), headers=allow)
        route = ROUTE.fullmatch(path)
        if route is None:
            return NOT_FOUND
        if route["run"] is None:
            return self._index(route)
        place = self.served.known().get(route["run"])
        return NOT_FOUND if place is None else self._run(place, route, query, headers)

    def _index(self, route: re.Match[str]) -> Response:
        if route["film"]:
            return NOT_FOUND
        threading.Thread(target=self._find_verdicts, daemon=True).start()
        if route["state"]:
            return _json({"version": self.pages.index_version(), "told": "", "share": None, "over": False})
        return Response(kind=HTML, content=self.pages.index().encode())

    def _find_verdicts(self) -> None:
        if self._finding.acquire(blocking=False):
            try:
                self.pages.find_verdicts()
            finally:
                self._finding.release()

    def _run(self, place: ServedRun, route: re.Match[str], query: str, headers: Message) -> Response:
        if route["film"]:
            name = unquote(route["film"])
            film = self.pages.film(place, name)
            return NOT_FOUND if film is None else _film(film, kind_of(name), headers)
        if route["state"]:
            version = place.version
            beside = place.path == self.served.running
            if beside:
                self.state.seen(query == f"v={version}")
            told = self.state.told() if beside else {"told": "", "share": None, "over": False}
            return _json({"version": version, **told})
        return Response(kind=HTML, content=self.pages.run(place).encode())


class Handler(BaseHTTPRequestHandler):
    """One connection: a request of bounded length and time, one answer, and the end."""

    server: LiveServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tightrope", ""

    def handle(self) -> None:
        """Read the request and answer it."""
        self.close_connection = True
        head = _head(self.request)
        if head is None:
            self._send(Response(status=HTTPStatus.BAD_REQUEST, content=b"a request is short, and sent at once\n"))
            return
        self.rfile = io.BytesIO(head)
        self.raw_requestline = self.rfile.readline()
        if self.parse_request():
            self._send(self.server.answer(self.command, self.path, self.headers))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the parser of requests says to one that is none."""
        self._send(Response(status=HTTPStatus(code), content=b"this is no request\n"))

    def handle_expect_100(self) -> bool:
        """Nobody is asked for more than a request."""
        return True

    def _send(self, answer: Response) -> None:
        self.request.settimeout(SECONDS_TO_TAKE)
        headers = {**HEADERS, **answer.headers, "Content-Type": answer.kind, "Content-Length": str(len(answer.content))}
        head = f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        body = b"" if self.command == "HEAD" else answer.content
        # The time limit is for all of it, however slowly it is taken.
        self.request.sendall(head.encode("latin-1") + body)

    command = ""


def _head(request: socket.socket) -> bytes | None:
    """A request up to its empty line; None where it is too long, or takes too long."""
    until, head = time.monotonic() + SECONDS_TO_ASK, b""
    while b"\r\n\r\n" not in head:
        left = until - time.monotonic()
        if left <= 0 or len(head) > LONGEST_REQUEST:
            return None
        request.settimeout(left)
        try:
            piece = request.recv(4096)
        except TimeoutError:
            return None
        if not piece:
            return None
        head += piece
    return head if len(head) <= LONGEST_REQUEST else None


def _film(content: bytes, kind: str, headers: Message) -> Response:
    """A film, or the part of it that a player asks for to jump within it."""
    asked = re.fullmatch(r"bytes=(\d{1,12})-(\d{0,12})", headers.get("Range", ""))
    if asked is None or int(asked[1]) >= len(content):
        return Response(kind=kind, content=content, headers={"Accept-Ranges": "bytes"})
    first, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
    told = {"Accept-Ranges": "bytes", "Content-Range": f"bytes {first}-{last}/{len(content)}"}
    return Response(status=HTTPStatus.PARTIAL_CONTENT, kind=kind, content=content[first : last + 1], headers=told)


def _json(content: dict[str, Any]) -> Response:
    return Response(kind=JSON, content=json.dumps(content).encode())


NOT_FOUND = Response(status=HTTPStatus.NOT_FOUND, content=b"there is nothing of that name here\n")
