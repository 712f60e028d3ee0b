"""A site of results: all pages are linked, all links lead somewhere, and no file of anybody else's is lost."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from PIL import Image

from engram.cli import main
from engram.lab.grid import Grid, Study
from engram.lab.pages.links import FilesBeside, HomeNote, linked_home
from engram.lab.pages.markdown import markdown
from engram.lab.pages.page import Page
from engram.lab.pages.results_site import Site
from engram.lab.pages.site_frame import Frame, Link
from engram.lab.pages.social_card import LINES, lines_that_fit, social_card
from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES
from engram.pictures.video import write_video
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_page import Elements, text_colours

ROOT = Path(__file__).parents[3]
HEAVIEST = 1_500_000  # bytes of a page with all that it loads by itself
FRAMES = 16  # of noise, which no film can make small
GRID = Grid("mfec", "CartPole-v1", 1_000, seeds=(0, 1, 2), strategies=("lru", "kmeans"), sizes=(50,))
OWN = Study("mine", "Mine & yours <again>", (GRID,))
PAPERS = STUDIES["cartpole"].only(agents=["mfec"], strategies=("lru", "dkm"), sizes=(50,), seeds=(0, 1, 2))


def add_study(folder: Path, study: Study) -> None:
    """A study's folder as `engram report --out` leaves it, without having run anything."""
    steps = tuple(range(1_000, 16_000, 1_000))
    found = results(
        study,
        lambda cell, seed: 10.0 + seed,
        curve=lambda cell, seed, score: (steps, [score] * len(steps)),
        places=declare(study, folder),
    )
    found.export(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two studies, beside other things."""
    found = tmp_path_factory.mktemp("project") / "results"
    add_study(found / "cartpole", PAPERS)
    add_study(found / "my-study", OWN)
    (found / "gpu").mkdir()
    (found / "README.md").write_bytes(b"# Results, \xe9 in Latin-1\n")
    (found.parent / "docs").mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (FRAMES, 300, 400, 3), np.uint8)
    write_video(found.parent / "docs" / "memory.gif", iter(noise), caption="LRU finds it & kM does not.")
    return found


@pytest.fixture(scope="module")
def site(folder: Path) -> Path:
    out = folder.parent / "site"
    assert main(["site", str(folder), "--out", str(out), "--url", "https://example.org/engram/"]) == 0
    return out


def weight(path: Path) -> int:
    """The bytes of a page and of all files that it loads by itself."""
    found = Elements(path.read_text()).found
    loaded = {files[name] for _, files in found for name in ("src", "srcset", "poster") if name in files}
    beside = [path.parent / name for name in loaded if not name.startswith("data:")]
    return path.stat().st_size + sum(each.stat().st_size for each in beside)


def pages(site: Path) -> dict[str, Elements]:
    return {path.relative_to(site).as_posix(): Elements(path.read_text()) for path in site.rglob("*.html")}


def test_every_study_has_a_page_and_every_page_leads_to_all_others(site: Path) -> None:
    found = pages(site)
    assert set(found) == {"index.html", "cartpole/index.html", "my-study/index.html"}
    for name, page in found.items():
        (start,) = (i for i, (tag, _) in enumerate(page.found) if tag == "nav")
        links = [attributes for tag, attributes in page.found[start : start + 4] if tag == "a"]
        folder = PurePosixPath(name).parent
        assert {(site / folder / each["href"]).resolve() for each in links} == {site / each for each in found}
        (here,) = (each for each in links if each.get("aria-current") == "page")
        assert (site / folder / here["href"]).resolve() == site / name
        assert page.named("a")[0]["class"] == "skip"  # before the navigation, which it skips


def test_all_links_lead_somewhere(site: Path) -> None:
    checked = 0
    for name, page in pages(site).items():
        names = {attributes["id"] for _, attributes in page.found if "id" in attributes}
        for _, attributes in page.found:
            for address in (attributes[each] for each in ("href", "src", "srcset") if each in attributes):
                if address.startswith("#"):
                    assert address[1:] in names, (name, address)
                elif not address.startswith(("data:", "https://")):
                    path, _, place = address.partition("#")
                    there = (site / name).parent.joinpath(path)
                    assert there.is_file(), (name, address)
                    assert not place or f'id="{place}"' in there.read_text(), (name, address)
                    checked += 1
    assert checked > 15


def test_the_first_page_has_claims_film_data_and_commands(site: Path, folder: Path) -> None:
    html = (site / "index.html").read_text()
    assert "All 18 claims of the paper have too few runs." in html
    assert html.count("the rule, and what it rests on") == 18
    assert '<a class="film" href="memory.gif"><img src="memory.png" alt="LRU finds it &amp; kM does not."' in html
    assert 'width="400" height="300"' in html
    assert "<figcaption>LRU finds it &amp; kM does not.</figcaption>" in html
    assert 'href="cartpole/scores.csv"' in html
    assert 'href="my-study/evaluations.parquet"' in html
    assert "Mine &amp; yours &lt;again&gt;" in html
    assert ">CartPole</a> (n = " in html
    assert f"<span>{folder}</span> <span>--out</span>" in html
    with Image.open(site / "card.png") as card:
        assert card.size == (1200, 630)


def test_pages_with_all_that_they_load_by_themselves_are_light(site: Path) -> None:
    assert (site / "memory.gif").stat().st_size > HEAVIEST  # which is loaded when a reader asks for it
    weights = {path.relative_to(site).as_posix(): weight(path) for path in site.rglob("*.html")}
    assert max(weights.values()) <= HEAVIEST
    assert weights["index.html"] > (site / "index.html").stat().st_size + 50_000  # the picture was counted


def test_the_film_of_the_documents_is_light() -> None:
    assert (ROOT / "docs" / "memory.gif").stat().st_size <= 1_000_000


def test_other_sites_are_told_what_to_show(site: Path) -> None:
    for name, page in pages(site).items():
        shown = {each["property"]: each["content"] for each in page.named("meta") if "property" in each}
        assert shown["og:image"] == "https://example.org/engram/card.png"
        assert shown["og:url"] == f"https://example.org/engram/{name.removesuffix('index.html')}"
        assert shown["og:title"]
        assert shown["og:description"] not in ("", shown["og:title"])


def test_text_in_figures_has_colours_that_can_be_read_in_light_and_in_dark(site: Path) -> None:
    assert text_colours((site / "cartpole" / "index.html").read_text()) <= {"currentColor", "var(--soft)"}


def test_without_an_address_the_card_is_found_beside_the_page() -> None:
    home, study = Link("Results", "index.html"), Link("A & B", "a/index.html")
    html = "<head>\n</head>\n<body>\n<a>skip</a>\n<main></main></body>"
    framed = Frame([home, study], "card.png").around(html, study, title="<T>", description="D")
    assert '<meta property="og:image" content="../card.png">' in framed
    assert "og:url" not in framed
    assert 'content="&lt;T&gt;"' in framed
    assert '<a href="../index.html">Results</a><a href="../a/index.html" aria-current="page">A &amp; B</a>' in framed


def test_a_page_leads_to_its_data_and_to_claims_that_several_studies_decide(site: Path) -> None:
    found = Elements((site / "cartpole" / "index.html").read_text())
    links = [each["href"] for each in found.named("a")]
    assert {"evaluations.parquet", "scores.csv", "study.json"} <= set(links)
    assert "evaluations.csv" not in links  # which repositories do not keep
    assert links.count("../index.html#the-paper-s-claims") == 1
    assert 'id="the-paper-s-claims"' in (site / "index.html").read_text()
    assert not any("data-home" in attributes for _, attributes in found.found)


def test_by_itself_a_page_has_no_link_to_a_site(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("")
    note = HomeNote("Claims 1 and 2 are decided elsewhere: see", "all claims", "claims")
    files = FilesBeside.there(tmp_path, {"scores.csv": "with a row for every cell", "other.csv": ""}, "and figures")
    assert "href" not in note.html()
    assert '<a href="../index.html#claims">all claims</a>' in linked_home(note.html(), "../index.html")
    link = '<a href="scores.csv">scores.csv</a>'
    assert files.html() == f'<p class="note">Beside this page: {link} with a row for every cell, and figures.</p>'
    told = markdown(Page("", [note, files]))
    assert "see all claims." in told
    assert "[scores.csv](scores.csv) with a row for every cell, and figures." in told


def test_a_site_is_replaced_as_a_whole_and_other_files_are_not_lost(
    site: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    (copy / "my-study" / "notes.txt").write_text("mine")
    assert main(["site", str(folder), "--out", str(copy)]) == 2
    assert "holds files that are not a site's (my-study/notes.txt)" in capsys.readouterr().err.replace("\n", " ")
    (copy / "my-study" / "notes.txt").unlink()
    less = tmp_path / "results"
    add_study(less / "mine", OWN)
    assert main(["site", str(less), "--out", str(copy)]) == 0
    assert not (copy / "cartpole").exists()
    assert not (copy / "memory.gif").exists()  # there is none beside these results
    assert "18 claims" not in (copy / "index.html").read_text()  # and nothing that the paper is about
    assert json.loads((copy / "site.json").read_text())["files"] == sorted(
        path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file() and path.name != "site.json"
    )
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["empty"], "empty holds no studies: none of its folders has a study.json"),
        (["whole/mine"], "whole/mine is a study itself; name the folder that it lies in"),
        (["broken"], "cannot read broken/mine/study.json"),
        (["whole", "--out", "full"], "full holds files that are not a site's (a, b, c and 1 more)"),
        (["whole", "--out", "odd"], "cannot read odd/site.json"),
        (["whole", "--film", "film.gif"], "there is no file film.gif"),
        (["whole", "--film", "full/a"], "full/a is not a film that can be read"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_left_behind(
    words: Sequence[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    add_study(Path("whole/mine"), OWN)
    add_study(Path("broken/mine"), OWN)
    Path("broken/mine/study.json").write_text("{")
    Path("full").mkdir()
    for name in "abcd":
        Path("full", name).write_text("text")
    Path("odd").mkdir()
    Path("odd/site.json").write_text("[]")
    before = sorted(path for path in tmp_path.rglob("*"))
    assert main(["site", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_study_that_cannot_be_read_leaves_the_last_site_as_it_was(site: Path, folder: Path, tmp_path: Path) -> None:
    copy, damaged = tmp_path / "site", tmp_path / "results"
    shutil.copytree(site, copy)
    shutil.copytree(folder, damaged)
    (damaged / "my-study" / "evaluations.parquet").write_bytes(b"PAR1")
    assert main(["site", str(damaged), "--out", str(copy)]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"site", "results"}
    assert (copy / "index.html").read_bytes() == (site / "index.html").read_bytes()


def test_studies_of_the_paper_are_called_by_their_environment(folder: Path) -> None:
    made = Site(folder, STUDIES, CLAIMS)
    names = [made.name_of(Path("x") / name) for name in ("cartpole", "fourroom", "forgetting-confirmed", "my_own")]
    assert names == ["CartPole", "FourRoom", "Forgetting confirmed", "My own"]


def test_studies_come_in_the_order_in_which_the_results_tell_of_them(tmp_path: Path) -> None:
    for name in ("a", "b", "b-two", "c"):
        add_study(tmp_path / name, OWN)
    assert [path.name for path in Site(tmp_path, STUDIES, CLAIMS).folders] == ["a", "b", "b-two", "c"]
    (tmp_path / "README.md").write_text("[First](c/README.md), [then](b-two/index.html), a, [c again](c/x), [b](b/x)")
    assert [path.name for path in Site(tmp_path, STUDIES, CLAIMS).folders] == ["c", "b-two", "b", "a"]


def test_a_card_has_whole_findings_only() -> None:
    short, long = "DkM forgets.", "word " * 70  # one line, five lines
    assert lines_that_fit([short, long, short]) == [short, *lines_that_fit([long])], "the third has no room"
    assert lines_that_fit([short, short]) == [short, short]
    cut = lines_that_fit(["word " * 200, short])
    assert len(cut) == LINES
    assert cut[-1].endswith(" …")
    assert lines_that_fit([]) == []


def test_a_card_is_drawn_for_any_number_of_claims_and_findings(tmp_path: Path) -> None:
    counts = {HOLDS: 1, FAILS: 9, OPEN: 0, BEYOND: 4, FEW: 4}
    cards = [social_card("Title", counts, ["1 holds"], ["word " * 100]), social_card("Title", {}, [], [])]
    for number, data in enumerate(cards):
        path = tmp_path / f"{number}.png"
        path.write_bytes(data)
        with Image.open(path) as card:
            assert card.size == (1200, 630)
            assert len(np.unique(np.asarray(card.convert("L")))) > 10  # something is drawn
