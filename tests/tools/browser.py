"""A real browser for tests: Chromium without a window, driven by its DevTools over a pipe.

It is a plain module, as the oracle is; nothing but the standard library is needed.
"""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
WAIT = 120  # seconds, on a machine that is busy
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--hide-scrollbars", "--force-device-scale-factor=1"),
    *("--disable-extensions", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
)


class Browser:
    """One Chromium with one page; a context manager.

    Attributes
    ----------
    requests : list of str
        What pages asked for since `open`, their own address aside.
    console : list of str
        What they said, errors included.
    """

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="gramsmith-browser-")
        commands, answers = os.pipe(), os.pipe()

        def connect():  # Chromium reads descriptor 3 and writes 4; first out of their way
            reading, writing = os.dup(commands[0]), os.dup(answers[1])
            high = [os.dup2(reading, 100), os.dup2(writing, 101)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, *OPTIONS, f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands[0])
        os.close(answers[1])
        self.commands, self.answers = os.fdopen(commands[1], "wb"), os.fdopen(answers[0], "rb")
        self.numbers, self.rest, self.session = itertools.count(1), b"", None
        self.requests, self.console, self.loaded = [], [], False
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        found = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self.session = found["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error):
        for stream in (self.commands, self.answers):
            stream.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        """Send a command and return its result; what happens meanwhile is noted."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers.fileno(), 1 << 20)
            if not part:
                raise RuntimeError("Chromium has gone")
            self.rest += part
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event, details):
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            self.console.append(str([a.get("value") for a in details["args"]]))
        elif event == "Runtime.exceptionThrown":
            self.console.append(str(details["exceptionDetails"].get("text")))
        elif event == "Log.entryAdded":
            self.console.append(details["entry"]["text"])

    def open(self, path, width=1280, height=900, dark=False, paper=False, query=""):
        """Show a file in a window of some size, in light or dark, on screen or on paper."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        self.requests, self.console, self.loaded = [], [], False
        address = Path(path).resolve().as_uri() + query
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._next()
        own = (address, "data:")  # pictures that stand in the page are no requests
        self.requests = [url for url in self.requests if not url.startswith(own)]

    def ask(self, script):
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def picture(self, path):
        """Save the whole page as a PNG file."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(found["data"]))
