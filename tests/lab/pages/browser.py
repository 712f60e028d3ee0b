"""A browser without a window, that nothing is known of yet: what it draws, says and finds on a page."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)
HEIGHT = 4_000
TRIES = 3  # a busy machine may end the page's time before a frame of it is drawn, for which some scripts wait
USUAL = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000")

needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is on the PATH")


def browse(path: Path, width: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page, offline."""
    assert BROWSER is not None
    with TemporaryDirectory() as profile:
        log = ("--enable-logging=stderr", "--v=0", f"--user-data-dir={profile}")
        offline = ("--host-resolver-rules=MAP * ~NOTFOUND",)
        words = [BROWSER, *USUAL, *log, *offline, f"--window-size={width},{HEIGHT}", *options, path.as_uri()]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a page has said: none should say anything."""
    return [line for line in done.stderr.splitlines() if re.search(r":CONSOLE[:(]|Uncaught|net::ERR_", line)]


def ask(html: str, script: str, folder: Path, *, width: int, dark: bool = False) -> Any:
    """What a script answers that runs at the end of a page: `answer(…)` takes anything that JSON can hold.

    The page is shown in a frame, as no window is as narrow as a phone's.
    """
    told = "const answer = (found) => { parent.document.title = JSON.stringify(found); };"
    asked = html.replace("</body>", f"<script>{told}</script><script>{script}</script></body>")
    frame = folder / f"frame-{width}-{dark}.html"
    frame.write_text(
        f'<!DOCTYPE html><title></title><iframe width="{width}" height="900" style="border: 0" '
        f'srcdoc="{escape(darkened(asked) if dark else asked)}"></iframe>'
    )
    for _ in range(TRIES):
        done = browse(frame, 1_600, "--dump-dom")
        assert done.returncode == 0, done.stderr
        assert complaints(done) == []
        title = re.search(r"<title>(.*?)</title>", done.stdout, flags=re.DOTALL)
        assert title is not None
        if title[1]:
            return json.loads(unescape(title[1]))
    raise AssertionError("the script has not answered")


def darkened(html: str) -> str:
    """A page as someone sees it whose computer is set to dark colours."""
    return html.replace("@media (prefers-color-scheme: dark)", "@media all")
