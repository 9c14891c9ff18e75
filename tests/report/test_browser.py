"""The page in a real browser: nothing on the console, nothing asked of the network, it fits."""

import shutil
import socketserver
import subprocess
import threading

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs the browser Chromium")

HOSTILE = [
    "<script>console.log('run')</script>",
    '"><img src="http://leak.test/x.png">',
    "$\\frac$",
]
CONTROL = """<!doctype html><title>control</title>
<img src="http://leak.test/seen.png"><script>console.log("heard")</script>"""


class Ear(socketserver.BaseRequestHandler):
    """A proxy that notes what is asked of it and gives nothing."""

    def handle(self):
        line = self.request.recv(4096).split(b"\r\n", 1)[0].decode("latin-1")
        self.server.asked.append(line)
        self.request.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def visit(tmp_path):
    """Return a function that opens a page and returns (console lines, requests, screenshot)."""

    def open_page(page, width):
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Ear) as ear:
            ear.asked, ear.daemon_threads = [], True
            threading.Thread(target=ear.serve_forever, daemon=True).start()
            shot = tmp_path / f"{page.stem}-{width}.png"
            done = subprocess.run(
                [
                    *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu"),
                    *("--no-first-run", "--disable-background-networking", "--disable-sync"),
                    *("--disable-component-update", "--disable-default-apps", "--disable-quic"),
                    *("--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"),
                    f"--proxy-server=http://127.0.0.1:{ear.server_address[1]}",
                    *(f"--window-size={width},900", f"--screenshot={shot}"),
                    page.as_uri(),
                ],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            ear.shutdown()
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        own = [line for line in ear.asked if "google" not in line and "gvt1" not in line]
        return console, own, shot

    return open_page


def test_the_ear_hears(visit, tmp_path):
    page = tmp_path / "control.html"
    page.write_text(CONTROL)
    console, asked, shot = visit(page, 800)
    assert any("heard" in line for line in console), "the test itself is deaf"
    assert any("leak.test/seen.png" in line for line in asked), "the test itself is deaf"
    assert shot.exists()


@pytest.mark.parametrize("width", [390, 1280])
def test_silence(visit, tmp_path, width):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=HOSTILE)
    y = np.where(X[HOSTILE[0]] * X[HOSTILE[1]] > 0, HOSTILE[0], HOSTILE[1])
    page = tmp_path / "report.html"
    gs.rank_kernels(X, y, kernels=["rbf", "linear"]).write_html(page, title=HOSTILE[1])
    console, asked, shot = visit(page, width)
    assert console == []
    assert asked == []
    assert shot.stat().st_size > 10_000  # something was drawn
