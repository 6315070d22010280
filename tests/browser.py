"""A page in Debian's Chromium, without a screen and without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions"),
    *("--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=4000"),
)


def require_browser() -> None:
    """Skip the test where there is no browser."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")


def screenshot(html: str, width: int, height: int, to: Path, dark: bool = False) -> bytes:
    """The page as a PNG, in a frame of this width: windows are 500 pixels wide at least."""
    extra = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    size = f"--window-size={max(width, 500)},{height}"
    _run(_framed(html, width, height, ""), f"--screenshot={to}", size, *extra)
    return to.read_bytes()


def evaluated(html: str, width: int, expression: str) -> Any:
    """The value of an expression of JavaScript in the page, whose `document` it is about."""
    script = (
        "const frame = document.querySelector('iframe');"
        "frame.addEventListener('load', () => {"
        "const document = frame.contentDocument, window = frame.contentWindow;"
        f"const value = (() => {{ return {expression}; }})();"
        "frame.ownerDocument.title = JSON.stringify(value); });"
    )
    size = f"--window-size={max(width, 500)},900"
    printed = _run(_framed(html, width, 900, script), "--dump-dom", size)
    found = re.search(r"<title>(.*?)</title>", printed, re.DOTALL)
    assert found is not None, printed[:500]
    return json.loads(unescape(found[1]))


def _framed(html: str, width: int, height: int, script: str) -> str:
    frame = f'<iframe width="{width}" height="{height}" srcdoc="{escape(html)}"></iframe>'
    style = "<style>body,iframe{margin:0;border:0;display:block}</style>"
    script_of = f"<script>{script}</script>" if script else ""
    # The frame loads after the script that waits for it.
    made = frame.replace("srcdoc=", "data-page=")
    start = (
        "<script>const f = document.querySelector('iframe'); f.srcdoc = f.dataset.page;</script>"
    )
    return f"<!DOCTYPE html><title>null</title>{style}{made}{script_of}{start}"


def _run(html: str, *arguments: str) -> str:
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(html, encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        done = subprocess.run(
            [CHROMIUM, *FLAGS, profile, *arguments, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
