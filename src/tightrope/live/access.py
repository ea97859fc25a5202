"""Whether a request to the live page is let in.

The port is open to every program of this machine and, through a browser, to every site that its user visits. So a
request must name this machine (or a site could point its own name here), must not come from another site, and must
know the key that stands in the address.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from urllib.parse import urlsplit

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
METHODS = ("GET", "HEAD")
OWN = ("same-origin", "none")
"""Where a browser may say that a request comes from: this very page, or its user's own hand."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a request is not answered."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True, kw_only=True)
class Door:
    """What a request must show."""

    port: int
    key: str

    @property
    def hosts(self) -> frozenset[str]:
        """How a browser may call this server."""
        return frozenset(f"{name}:{self.port}" for name in NAMES)

    def refusal(self, method: str, path: str, headers: Message) -> Refusal | None:
        """Why a request is refused; None: it is let in."""
        if method not in METHODS:
            return Refusal(status=HTTPStatus.METHOD_NOT_ALLOWED, reason="this page can only be read")
        if headers.get_all("Host", []) not in [[host] for host in self.hosts]:
            return _forbidden("the request names another host than this machine")
        if not all(map(self._is_own, (*headers.get_all("Origin", []), *headers.get_all("Referer", [])))):
            return _forbidden("the request comes from another site")
        if any(site not in OWN for site in headers.get_all("Sec-Fetch-Site", [])):
            return _forbidden("the request comes from another site")
        key = path.split("/")[1] if path.startswith("/") else ""
        if not hmac.compare_digest(key.encode("utf-8", "replace"), self.key.encode()):
            return _forbidden("the key in the address is not that of this page")
        return None

    def _is_own(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
        except ValueError:
            return False
        return parts.scheme == "http" and parts.netloc in self.hosts


def _forbidden(reason: str) -> Refusal:
    return Refusal(status=HTTPStatus.FORBIDDEN, reason=reason)
