"""Every page, in a browser without a network: axe-core finds nothing serious, and the page says and asks nothing.

The pages are those of `results/`, as they are committed, and a small site. axe-core is a part of a package of the extra
`dev`, and runs inside a copy of the page.
"""

from pathlib import Path

import axe_core_python
import pytest

from tests.lab.pages.browser import ask, browse, complaints, needs_browser
from tests.lab.pages.test_results_site import HEAVIEST, ROOT, folder, site, weight

__all__ = ["folder", "site"]  # fixtures

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
PAGES = sorted(ROOT.glob("results/*/index.html"))
GRAVE = ("serious", "critical")
RUN = """
document.querySelectorAll("details").forEach(each => each.open = true);
axe.run(document, { resultTypes: ["violations"] }).then(found => answer({
  loaded: performance.getEntriesByType("resource").map(each => each.name),
  violations: found.violations.map(each => [each.impact, each.id, each.nodes.slice(0, 3).map(node => node.html)]),
}));
"""

pytestmark = [needs_browser, pytest.mark.slow]


def check(html: str, tmp_path: Path, width: int, *, dark: bool) -> None:
    found = ask(html, f"{AXE}</script><script>{RUN}", tmp_path, width=width, dark=dark)
    assert [each for each in found["violations"] if each[0] in GRAVE] == []
    assert found["loaded"] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_pages_of_results(path: Path, width: int, dark: bool, tmp_path: Path) -> None:
    assert weight(path) <= HEAVIEST
    check(path.read_text(), tmp_path, width, dark=dark)


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, False), (1400, True), (390, True)])
def test_pages_of_a_site(site: Path, width: int, dark: bool, tmp_path: Path) -> None:
    for path in sorted(site.rglob("*.html")):
        whole = path.read_text()
        check(whole.replace("memory.png", "data:,"), tmp_path, width, dark=dark)
        assert complaints(browse(path, width, "--dump-dom")) == []
        assert weight(path) <= HEAVIEST


def test_what_is_grave_would_be_found(tmp_path: Path) -> None:
    bad = '<html lang="en"><title>x</title><main><p style="color: #ccc">pale</p><img src="data:,"></main></body></html>'
    found = ask(bad, f"{AXE}</script><script>{RUN}", tmp_path, width=390)
    assert {each[1] for each in found["violations"] if each[0] in GRAVE} >= {"color-contrast", "image-alt"}
