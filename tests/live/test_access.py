"""Who is let in to the live page: every sentence of the security page on it is tried here as an attack."""

from __future__ import annotations

from email.message import Message

import pytest

from tightrope.live.access import Door

KEY = "k" * 22
DOOR = Door(port=8123, key=KEY)


def headers(**given: str) -> Message:
    message = Message()
    for name, value in {"Host": "127.0.0.1:8123", **given}.items():
        if value:
            message[name.replace("_", "-")] = value
    return message


def status(method: str = "GET", path: str = f"/{KEY}/", **given: str) -> int:
    refusal = DOOR.refusal(method, path, headers(**given))
    return 200 if refusal is None else refusal.status.value


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"Host": "localhost:8123"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin", "Origin": "http://127.0.0.1:8123"},
        {"Referer": f"http://127.0.0.1:8123/{KEY}/runs/0/"},
    ],
)
def test_the_page_itself_and_its_user_are_let_in(given: dict[str, str]) -> None:
    assert status(**given) == status("HEAD", **given) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:8124", "127.0.0.1:8123.evil.example", "",
     "[::1]:8123", "localhost:8123@evil.example", "LOCALHOST.:8123"],
)  # fmt: skip
def test_a_name_that_was_pointed_here_is_refused(host: str) -> None:
    assert status(Host=host) == 403


def test_two_hosts_are_none() -> None:
    twice = headers()
    twice["Host"] = "evil.example"
    refusal = DOOR.refusal("GET", f"/{KEY}/", twice)
    assert refusal is not None
    assert refusal.status == 403


@pytest.mark.parametrize(
    "address",
    ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124", "http://127.0.0.1",
     "http://127.0.0.1:8123@evil.example", "http://[", "file:///home/page.html"],
)  # fmt: skip
@pytest.mark.parametrize("header", ["Origin", "Referer"])
def test_other_origins_are_refused(header: str, address: str) -> None:
    assert status(**{header: address}) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_request_that_another_site_caused_is_refused(site: str) -> None:
    assert status(Sec_Fetch_Site=site) == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "get"])
def test_it_can_only_be_read(method: str) -> None:
    assert status(method) == 405


@pytest.mark.parametrize("path", ["/", "", "//", "/wrong/", f"/{KEY[:-1]}/", f"/{KEY}x/", f"//{KEY}/", "/ké/", KEY])
def test_without_the_key_nothing_is_shown(path: str) -> None:
    assert status(path=path) == 403
