"""Questions to a server by HTTP, each bounded in time and in size."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import time
import urllib.parse
import weakref
from typing import Any

from tightrope.errors import AgentError

SCHEMES = re.compile(r"^https?://", re.IGNORECASE)
SECONDS = 30.0
"""For one whole exchange. A large network answers a batch in less than one; a server that drips must not stop a run."""
LARGEST_ANSWER = 64 * 1024**2
"""Bytes: a million numbers for each of 64 actions is far more than any action has."""


def is_address(source: str) -> bool:
    """Whether a source is an address of HTTP."""
    return bool(SCHEMES.match(source))


class Exchange:
    """Asks one address, over a connection that is kept open."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        self.address, self.seconds = address, seconds
        parts = _checked(address)
        self._path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=seconds)
        self._one_at_a_time = threading.Lock()
        weakref.finalize(self, self._connection.close)

    def ask(self, method: str, body: bytes | None = None) -> bytes:
        """What the server answers; AgentError when it does not, not in time, or too much."""
        with self._one_at_a_time:
            was_open = self._connection.sock is not None
            try:
                try:
                    return self._asked(method, body)
                except _Broken as error:
                    # A server may close a connection that was quiet; asking twice does no harm.
                    if error.hung or not was_open:
                        raise
                    self._connection.close()
                    return self._asked(method, body)
            except _Broken as error:
                self._connection.close()
                raise self._told(error) from error

    def _asked(self, method: str, body: bytes | None) -> bytes:
        connection = self._connection
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if body is not None else {})
        end = time.monotonic() + self.seconds
        # The connection's own timeout begins anew with every byte.
        ending = threading.Timer(self.seconds, _cut, [connection])
        ending.start()
        try:
            connection.request(method, self._path, body, headers)
            response = connection.getresponse()
            content = _content(response)
        except (OSError, ValueError, http.client.HTTPException) as error:
            if time.monotonic() >= end or isinstance(error, TimeoutError):
                raise _Broken(f"gave no complete answer within {self.seconds:g} seconds", hung=True) from error
            raise _Broken(f"cannot be asked ({type(error).__name__}: {str(error)[:200]})") from error
        finally:
            ending.cancel()
        if response.status != 200:
            connection.close()
            raise AgentError(
                f"the server at {self.address} answered {method} with {response.status} {str(response.reason)[:80]} "
                f"({content[:200].decode('utf-8', 'replace')!r}); an agent's server answers 200"
            )
        return content

    def _told(self, error: _Broken) -> AgentError:
        return AgentError(
            f"the server at {self.address} {error}. Is it running, and does it speak HTTP? "
            f"examples/agent_server.py is one that works"
        )


class _Broken(Exception):
    """An exchange that came to no answer."""

    def __init__(self, told: str, *, hung: bool = False) -> None:
        super().__init__(told)
        self.hung = hung


def _cut(connection: http.client.HTTPConnection) -> None:
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _content(response: http.client.HTTPResponse) -> bytes:
    content = response.read(LARGEST_ANSWER + 1)
    if len(content) > LARGEST_ANSWER:
        raise _Broken(f"answered with more than {LARGEST_ANSWER // 1024**2} MiB", hung=True)
    if response.length:
        raise http.client.IncompleteRead(content, response.length)
    return content


def _checked(address: str) -> Any:
    try:
        parts = urllib.parse.urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise AgentError(f"{address!r} is not an address ({error}); write http://host:port/path") from error
    if not parts.hostname or port == 0:
        raise AgentError(f"{address!r} names no host; write http://host:port/path")
    if parts.username is not None or parts.password is not None:
        raise AgentError(
            f"the address of {parts.hostname} contains a user name or password, which would be written into every run; "
            f"use a server that needs none"
        )
    return parts
