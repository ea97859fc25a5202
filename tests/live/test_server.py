"""The live page as programs on this machine meet it, well-meaning and other."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tightrope.cli import run_command
from tightrope.errors import UsageError
from tightrope.live import server as server_module
from tightrope.live.pages import Pages
from tightrope.live.served_runs import ServedRuns, run_folders
from tightrope.live.server import LiveServer, open_server

SECRET = b"not for anybody"
CAMPAIGN = """
task: FrozenLake-v1
options: {is_slippery: false}
agents: [{source: 'tests.sample_agents:zigzag', name: '<b>zig</b>'}]
plain: {episodes: 1}
search: {references: 1}
safety: {suites: [simple], repetitions: 1, length: 8, control: 'no', max_fail: 0}
fuzzing: {enabled: false}
execution: {backend: inline}
report: {videos: 1}
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in it, one run further down, and what must not be served."""
    root = tmp_path_factory.mktemp("shelf")
    (root / "campaign.yaml").write_text(CAMPAIGN)
    assert run_command(["run", str(root / "campaign.yaml"), "--out", str(root / "deep" / "run"), "--quiet"]) in (0, 1)
    (root / "secret.txt").write_bytes(SECRET)
    outside = tmp_path_factory.mktemp("outside") / "run"
    shutil.copytree(root / "deep" / "run", outside)
    (root / "link").symlink_to(outside)
    linked = root / "linked"
    shutil.copytree(root / "deep" / "run", linked)
    (linked / "report" / "videos").mkdir(exist_ok=True)
    (linked / "report" / "videos" / "a.webp").symlink_to(root / "secret.txt")
    return root


@pytest.fixture(scope="module")
def server(shelf: Path) -> Iterator[LiveServer]:
    with open_server(ServedRuns(root=shelf), None) as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        yield opened
        opened.shutdown()


def run_id(server: LiveServer, name: str) -> str:
    return next(place.id for place in server.served.known().values() if place.name == name)


def sent(server: LiveServer, raw: bytes) -> bytes:
    """What comes back for these bytes."""
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(raw)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def ask(server: LiveServer, path: str, method: str = "GET", key: str | None = None, **given: str) -> tuple[int, str]:
    headers = {"Host": f"127.0.0.1:{server.door.port}", **given}
    lines = [f"{method} /{server.door.key if key is None else key}/{path} HTTP/1.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    answer = sent(server, ("\r\n".join(lines) + "\r\n\r\n").encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode() + "\n\n" + body.decode("utf-8", "replace")


def test_it_listens_to_this_machine_alone(server: LiveServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.url.startswith("http://127.0.0.1:")
    assert len(server.door.key) > 20


def test_every_answer_forbids_what_the_report_forbids(server: LiveServer) -> None:
    for path, key in (("", None), ("nothing", None), ("", "wrong")):
        _, told = ask(server, path, key=key)
        assert "default-src 'none'" in told
        assert "connect-src 'self'" in told
        assert "X-Content-Type-Options: nosniff" in told
        assert "access-control-allow" not in told.lower(), "no other origin may read it"
        assert "Server:" not in told


def test_a_run_is_shown_as_its_report(server: LiveServer, shelf: Path) -> None:
    code, page = ask(server, f"runs/{run_id(server, 'deep/run')}/")
    report = (shelf / "deep" / "run" / "report" / "index.html").read_text()
    assert code == 200
    report = report.replace(" · deterministic · snapshots: attributes", "")
    assert report.partition('<main id="main">')[2] == page.partition('<main id="main">')[2], "the map and the films too"
    assert '"ways":[[' in page, "which is drawn without playing anything"
    assert "http-equiv" not in page, "the policy comes with the answer, which lets the page ask for its state"


def test_names_in_a_run_are_no_html(server: LiveServer) -> None:
    server.pages.find_verdicts()
    for path in ("", f"runs/{run_id(server, 'deep/run')}/"):
        _, page = ask(server, path)
        assert "<b>zig</b>" not in page.replace("\\u003cb>zig\\u003c/b>", "")
        assert "&lt;b&gt;zig&lt;/b&gt;" in page


def test_the_list_has_every_run_and_its_verdict(server: LiveServer) -> None:
    _, before = ask(server, "state.json")
    server.pages.find_verdicts()
    _, page = ask(server, "")
    assert [name for name in ("deep/run", "linked") if f">{name}</a>" in page] == ["deep/run", "linked"]
    assert ">link</a>" not in page, "links are not followed"
    assert ">failed</span>" in page
    assert SECRET.decode() not in page
    _, after = ask(server, "state.json")
    assert json.loads(after.partition("\n\n")[2])["version"].endswith("-2")
    assert json.loads(before.partition("\n\n")[2]).keys() == {"version", "told", "share", "over"}


def test_the_list_does_not_load_again_for_a_run_that_cannot_be_shown(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    pages = Pages(served=ServedRuns(root=tmp_path))
    assert "data-run" in pages.index()
    shown = pages.index_version()
    pages.find_verdicts()
    assert pages.index_version() == shown
    (tmp_path / "run" / "run.json").write_text("{ }")
    assert pages.index_version() != shown


def test_a_run_folder_with_links_is_refused_by_name(server: LiveServer) -> None:
    name = run_id(server, "linked")
    _, page = ask(server, f"runs/{name}/")
    assert "is a link" in page
    code, told = ask(server, f"runs/{name}/videos/a.webp")
    assert code == 404
    assert SECRET.decode() not in told


def test_its_films_are_served_and_nothing_beside_them(server: LiveServer, shelf: Path) -> None:
    films = shelf / "deep" / "run" / "report" / "videos"
    film = next(path for path in films.iterdir() if path.suffix == ".png")
    name = run_id(server, "deep/run")
    raw = f"GET /{server.door.key}/runs/{name}/videos/{film.name} HTTP/1.1\r\nHost: localhost:{server.door.port}\r\n"
    whole = sent(server, f"{raw}\r\n".encode())
    assert whole.endswith(film.read_bytes())
    assert b"Content-Type: image/png" in whole
    part = sent(server, f"{raw}Range: bytes=2-5\r\n\r\n".encode())
    assert part.startswith(b"HTTP/1.1 206 ")
    assert part.endswith(b"\r\n\r\n" + film.read_bytes()[2:6])
    assert sent(server, raw.replace("GET", "HEAD").encode() + b"\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt", "../../etc/passwd", "runs/../secret.txt", "%2e%2e/secret.txt", "runs/%2e%2e%2fsecret.txt",
        "runs/{run}/../../../secret.txt", "runs/{run}/videos/../../run.json", "runs/{run}/videos/..%2f..%2frun.json",
        "runs/{run}/videos/%2e%2e/%2e%2e/run.json", "runs/{run}/videos/%2fetc%2fpasswd", "runs/{run}/run.json",
        "runs/{run}/videos/run.json", "runs/{run}/videos/%00a.webp", "runs/deep/run/", "runs/000000000000/",
        "runs/{run}/videos/..\\..\\run.json", "videos/a.webp", "secret.txt",
        "runs/{run}/videos/" + "a" * 3000 + ".webp",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_what_is_served(server: LiveServer, path: str) -> None:
    code, told = ask(server, path.replace("{run}", run_id(server, "deep/run")))
    assert code == 404
    assert SECRET.decode() not in told
    assert "tightrope/run" not in told


def test_strangers_are_refused_over_the_wire(server: LiveServer) -> None:
    assert ask(server, "", Host="evil.example")[0] == 403
    assert ask(server, "", Origin="http://evil.example")[0] == 403
    assert ask(server, "", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(server, "", key="guess")[0] == 403
    code, told = ask(server, "", "POST")
    assert code == 405
    assert "Allow: GET, HEAD" in told


@pytest.mark.parametrize(
    "raw",
    [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
     b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"A" * 20000,
     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n"],
)  # fmt: skip
def test_what_is_no_request_or_a_huge_one_gets_a_short_answer(server: LiveServer, raw: bytes) -> None:
    try:
        answer = sent(server, raw)
    except ConnectionError:
        answer = b""  # it was left before all of it had been sent
    assert not answer.startswith(b"HTTP/1.1 2")
    assert len(answer) < 2000
    assert ask(server, "")[0] == 200, "and others are answered"


def test_a_slow_client_is_left_and_holds_up_nobody(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SECONDS_TO_ASK", 0.5)
    slow = [socket.create_connection(server.server_address, timeout=30) for _ in range(5)]
    for connection in slow:
        connection.sendall(b"GET / HT")
    assert ask(server, "")[0] == 200
    assert all(connection.recv(100).startswith(b"HTTP/1.1 400") for connection in slow)
    for connection in slow:
        connection.close()


def test_whoever_opens_too_many_connections_gets_no_more(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 3)
    with open_server(ServedRuns(root=shelf), None) as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        idle = [socket.create_connection(opened.server_address, timeout=30) for _ in range(3)]
        for connection in idle:
            connection.sendall(b"GET ")
        with socket.create_connection(opened.server_address, timeout=30) as further:
            assert further.recv(10) == b""
        for connection in idle:
            connection.close()
        opened.shutdown()


def test_a_port_that_is_taken_is_named(server: LiveServer, shelf: Path) -> None:
    with pytest.raises(UsageError, match=rf"--port {server.door.port} cannot be used .*leave it out for a free one"):
        open_server(ServedRuns(root=shelf), server.door.port)


def test_run_folders_are_found_without_links_hidden_folders_and_endless_depth(tmp_path: Path) -> None:
    for name in ("a", "b/c", ".hidden", "a/inside", "1/2/3"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "false").mkdir()
    os.symlink(tmp_path / "a" / "run.json", tmp_path / "false" / "run.json")
    found = {path.relative_to(tmp_path).as_posix() for path in run_folders(tmp_path, depth=2)}
    assert found == {"a", "b/c"}


def test_a_damaged_or_untrusted_run_says_so_and_the_others_are_shown(tmp_path: Path, shelf: Path) -> None:
    shutil.copytree(shelf / "deep" / "run", tmp_path / "good")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    shutil.copytree(shelf / "deep" / "run", tmp_path / "foreign")
    manifest = json.loads((tmp_path / "foreign" / "run.json").read_text())
    manifest["config"]["task"] = "antigravity:task"
    (tmp_path / "foreign" / "run.json").write_text(json.dumps(manifest))
    with open_server(ServedRuns(root=tmp_path), None) as opened:
        opened.pages.find_verdicts()
        page = opened.pages.index()
        shown = {place.name: opened.pages.run(place) for place in opened.served.known().values()}
    assert "names code to run: task antigravity:task" in shown["foreign"]
    assert "run.json" in shown["broken"]
    assert 'id="data"' in shown["good"]
    assert ">failed</span>" in page
