"""A live page beside a run: the run is the same with it, and it ends with the run."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.live.test_server import CAMPAIGN
from tests.live.waiting import GATE
from tests.report.browsing import AUDIT, BROWSER, PHONE, Visit, axe
from tests.report.conftest import browser
from tightrope.cli import run_command
from tightrope.cli.progress.live_page import without_page
from tightrope.live.page_process import live_page

__all__ = ["browser"]
ROOT = Path(__file__).parents[2]
HOW = CAMPAIGN.replace("tests.sample_agents:zigzag", "tests.live.waiting:patient").replace("<b>zig</b>", "patient")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "campaign.yaml").write_text(HOW)
    return tmp_path / "campaign.yaml"


@contextmanager
def running(campaign: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a shell starts it, whose agent waits for a file, and the address of its page."""
    command = [sys.executable, "-m", "tightrope", "run", str(campaign), "--out", str(campaign.parent / "run")]
    process = subprocess.Popen(
        [*command, "--live", *options],
        cwd=ROOT,
        env={**os.environ, GATE: str(campaign.parent / "go")},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/runs/\w+/", process.stderr.readline())
        assert address is not None
        yield process, address[0]
    finally:
        process.kill()
        process.communicate()


def is_open(url: str) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) == 0


def was_left(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def stored(folder: Path) -> dict[str, Any]:
    """What a run holds by its content; files that also say how long something took have names for that."""
    artefacts = json.loads((folder / "run.json").read_text())["artefacts"]
    return {path: entry["ids"] or entry["checksum"] for path, entry in artefacts.items()}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium; apt-get install chromium brings one")
def test_a_page_shows_progress_and_then_the_verdict_by_itself(
    campaign: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(campaign, "--json", "--quiet") as (process, url):
        visit = Visit.__new__(Visit)
        visit.complaints, visit.requests = [], []
        visit.context = browser.new_context(viewport=PHONE)
        page = visit.page = visit.context.new_page()
        page.on("console", lambda message: visit.complaints.append(message.text))
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("request", lambda request: visit.requests.append(request.url))
        page.goto(f"{url}#agent=patient&suite=simple&place=2")
        told = page.locator("#live [data-told]")
        told.filter(has_text="plain").wait_for(timeout=120_000)
        assert page.locator(".headline").count() == 0 or "still going" in page.inner_text("main")
        (campaign.parent / "go").touch()
        page.wait_for_selector(".headline .badge.pass", timeout=120_000)
        told.filter(has_text="The command has ended").wait_for()
        assert process.wait(60) == 0
        assert page.url.endswith("#agent=patient&suite=simple&place=2"), "where one was"
        assert not re.search("not finished|still going", page.inner_text("main"))
        assert page.evaluate(AUDIT) == []
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert visit.complaints == []
        assert [asked for asked in visit.requests if not asked.startswith((url, "data:"))] == [], "nobody else is asked"
        visit.context.close()
        assert not is_open(url)
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["gates"][0]["passed"] is True
    monkeypatch.setenv(GATE, str(campaign.parent / "go"))
    assert run_command(["run", str(campaign), "--out", str(campaign.parent / "plain"), "--quiet"]) == 0
    assert stored(campaign.parent / "run") == stored(campaign.parent / "plain")


def test_it_ends_with_the_command_however_that_ends_and_whoever_hangs(campaign: Path) -> None:
    with running(campaign, "--quiet") as (process, url):
        port = int(url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as hung:
            path = url.partition(f":{port}")[2]
            for name in ("state.json", ""):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as asking:
                    asking.sendall(f"GET {path}{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                    assert asking.recv(12) == b"HTTP/1.1 200"
            hung.sendall(b"GET / HTTP/1.1\r\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert was_left(hung)
        assert not is_open(url)


def test_it_is_killed_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tightrope.live.page_process import live_page\n"
        "with live_page(Path(sys.argv[1]), None) as page: print(page.url, flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")], text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    url = process.stdout.readline()
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])), timeout=60) as connection:
        process.kill()
        process.communicate()
        assert was_left(connection)


def test_a_page_that_does_not_listen_keeps_nobody_waiting(tmp_path: Path) -> None:
    with live_page(tmp_path / "run", None) as page:
        for _ in range(2000):
            page.tell("x" * 10_000, 0.5, at_once=True)


def test_a_taken_port_is_told_before_anything_is_done(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        out = campaign.parent / "run"
        assert run_command(["run", str(campaign), "--out", str(out), "--live", "--port", str(port)]) == 2
        assert f"--port {port} cannot be used" in capsys.readouterr().err
        assert not out.exists()
    assert run_command(["run", str(campaign), "--port", "8000"]) == 2
    assert "use it with --live" in capsys.readouterr().err


def test_a_run_remembers_the_command_without_its_page() -> None:
    command = "tightrope run 'a b' --live --port 80 --agent --port=3 x --out y"
    assert without_page(command) == "tightrope run 'a b' --agent x --out y"


def test_view_serves_a_folder_until_it_is_interrupted(tmp_path: Path, browser: Any) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    process = subprocess.Popen(
        [sys.executable, "-m", "tightrope", "view", str(tmp_path), "--json"],
        text=True,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    told = json.loads("".join(process.stdout.readline() for _ in range(4)))
    assert told["runs"] == 1
    assert is_open(told["url"])
    with closing(browser.new_page()) as page:
        page.goto(told["url"])
        page.locator(".shelf li > p:not(.small)").wait_for()
        assert axe(page) == []
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 0
    assert not is_open(told["url"])
    assert run_command(["view", str(tmp_path / "nothing")]) == 2


def test_a_page_that_is_out_of_date_does_not_take_back_a_click(browser: Any) -> None:
    """The page that was clicked on takes a while to make; meanwhile there is more to show on this one."""
    script = (resources.files("tightrope.live") / "assets" / "live.js").read_text(encoding="utf-8")
    bar = '<section id="live" data-version="old"><p data-told></p><progress></progress></section>'
    loads, waiting, version = [], [], ["old"]

    def shelf(route: Any) -> None:
        loads.append(route)
        route.fulfill(body=f"{bar}<a href='run'>run</a><script>{script}</script>", content_type="text/html")

    def state(route: Any) -> None:
        route.fulfill(json={"told": "going", "share": None, "version": version[0], "over": False})

    with closing(browser.new_page()) as page:
        page.route("http://127.0.0.1:9/", shelf)
        page.route("http://127.0.0.1:9/state.json*", state)
        page.route("http://127.0.0.1:9/run", lambda route: waiting.append(route))
        page.goto("http://127.0.0.1:9/")
        page.locator("a").evaluate("node => node.click()")
        version[0] = "new"
        page.wait_for_timeout(2500)
        (clicked,) = waiting
        clicked.fulfill(body="<h1>the run</h1>", content_type="text/html")
        page.locator("h1").wait_for()
        assert len(loads) == 1
