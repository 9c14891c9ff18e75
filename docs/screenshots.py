"""Take the pictures of the tutorial anew: ``python docs/screenshots.py``, from the repository.

The commands of `guide/ten_minutes` are run in a temporary folder; what they print becomes an SVG
drawing, and Chromium photographs the report that they leave. The pictures go to `_static/` and are
kept in the repository, because a browser is not everywhere.
"""

import base64
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image
from rich.console import Console
from rich.text import Text

import gramsmith

HERE = Path(__file__).parent
STATIC = HERE / "_static"
WIDTH = 80  # characters of the drawn terminal
sys.path.insert(0, str(HERE.parent / "tests"))
from tools.browser import Browser  # noqa: E402, the tests' own

# step -> command
STEPS = {
    "plan": "gramsmith rank tumours.csv --target diagnosis --dry-run",
    "rank": "gramsmith rank tumours.csv --target diagnosis -o run",
    "predict": "gramsmith predict run/model.safetensors new.csv --proba -o answers.csv",
    "inspect": "gramsmith inspect run/model.safetensors",
}
# what is recorded in words, for the test that asks whether it is still so; "demo" is in the README
RECORDED = {"rank": STEPS["rank"], "demo": "gramsmith rank train.csv --target diagnosis"}
# picture -> (heading of the report from which on, how many pixels)
PARTS = {"report": (None, 900), "report_read": ("read", 620), "report_kernel": ("which", 700)}
DESK, PHONE = 1000, 390  # pixels


def prepare(folder):
    """Write the two tables of the tutorial."""
    table = pd.read_csv(Path(gramsmith.__file__).parent / "data" / "breast_cancer.csv")
    table[:520].to_csv(folder / "tumours.csv", index=False)
    table[520:].drop(columns="diagnosis").to_csv(folder / "new.csv", index=False)
    table.to_csv(folder / "train.csv", index=False)


def draw(step, command, folder):
    """Run a command and draw what a terminal would show."""
    settings = {
        **os.environ,
        "FORCE_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        "COLUMNS": str(WIDTH),
        "TERM": "xterm-256color",
    }
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    said = re.sub(r"\x1b\[[0-9;]*[A-LN-Za-ln-z]|[^\n]*\r", "", done.stdout)
    # on a terminal progress is a bar, which disappears
    said = re.sub(r"^(\w.* \.\.\.|.* after \d+ seconds)\n", "", said, flags=re.MULTILINE)
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(said.strip()))
    svg = console.export_svg(title="gramsmith")
    # A font from the network has no place in a page that works without one.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S)
    (STATIC / f"step_{step}.svg").write_text(svg, encoding="utf-8")


def printed(command, folder):
    """Return what a command writes to the standard output."""
    line = [sys.executable, "-m", *command.split(), "--force"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def record(folder):
    """Keep the words of the runs, and the tables that the arena is drawn from."""
    tables = sorted(HERE.glob("arena_*-kinds.csv"))
    known = {step: printed(command, folder) for step, command in RECORDED.items()}
    known["arena"] = hashlib.sha256(b"".join(t.read_bytes() for t in tables)).hexdigest()
    text = json.dumps(known, indent=1, ensure_ascii=False)
    (STATIC / "recorded.json").write_text(text + "\n", encoding="utf-8")


def snap(browser, name, top, width, height):
    """Save a part of the page that is open."""
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    found = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    picture = Image.open(BytesIO(base64.b64decode(found["data"]))).convert("RGB")
    picture.quantize(128).save(STATIC / f"{name}.png", optimize=True)  # a third of the size


def photograph(page):
    """Save parts of the report, as a desktop and a telephone show it."""
    with Browser() as browser:
        browser.open(page, width=DESK, height=900)
        for name, (heading, height) in PARTS.items():
            place = f"document.getElementById('{heading}')?.getBoundingClientRect().top"
            top = browser.ask(f"{place} + window.scrollY") if heading else 12
            snap(browser, name, int(top) - 12, DESK, height)
        browser.open(page, width=PHONE, height=844)
        snap(browser, "report_phone", 0, PHONE, 844)


def similarities():
    """Draw the three Gram matrices of the README by the example that explains them."""
    matplotlib.use("agg")
    runpy.run_path(str(HERE.parent / "examples" / "measure" / "what_a_measure_sees.py"))
    buffer = BytesIO()
    plt.gcf().savefig(buffer, dpi=75)
    Image.open(buffer).convert("RGB").quantize(64).save(STATIC / "similar.png", optimize=True)


def main():
    """Run every step, draw it, photograph the report."""
    STATIC.mkdir(exist_ok=True)
    similarities()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for step, command in STEPS.items():
            draw(step, command, folder)
        photograph(folder / "run" / "report.html")
        record(folder)


if __name__ == "__main__":
    main()
