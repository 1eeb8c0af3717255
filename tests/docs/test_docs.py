"""The documents name what is there: files, headings, functions, make targets."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from lifoq.metrics import Metric

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    file
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*/*.md", "examples/**/*.md")
    for file in ROOT.glob(pattern)
)
INVARIANTS = ROOT / "docs" / "invariants.md"
PROMISES = re.findall(
    r"^\| (.*?\*\*.*?) \| (.*) \| (.*) \|$",
    INVARIANTS.read_text().partition("| promise |")[2],
    re.MULTILINE,
)
"""Each promise, where the code keeps it, and the tests that name it."""


def test_every_link_within_the_repository_leads_somewhere():
    for document in DOCUMENTS:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", _prose(document)):
            path, _, heading = link.partition("#")
            target = (document.parent / path) if path else document
            assert target.exists(), (document, link)
            if heading:
                assert heading in _anchors(target), (document, link)


OF_A_READER = {"send.py", "tracing.py"}
"""Files that pages have the reader write."""


def test_every_path_of_code_that_is_named_is_there():
    folders = (folder for folder in ROOT.glob("[a-z]*/") if folder.name != "node_modules")
    modules = [module for folder in folders for module in folder.rglob("*.py")]
    places = [str(module) for module in modules]
    for page in (*DOCUMENTS, *modules):
        for path in re.findall(r"`((?:[\w./-]+/)?\w+\.py)`", page.read_text()):
            assert path in OF_A_READER or any(p.endswith(f"/{path}") for p in places), (page, path)


def test_the_site_has_every_page_of_the_documents():
    shown = set(re.findall(r'"(docs/[^"]+\.md)"', (ROOT / "zensical.toml").read_text()))
    assert shown == {str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md")}


def test_every_message_on_the_page_of_troubles_is_one_of_the_products():
    sources = [
        file.read_text()
        for folder in ("lifoq*", "stacks", "tools")
        for file in ROOT.glob(f"{folder}/**/*")
        if file.is_file() and file.suffix in {"", ".py"}
    ]
    said = re.sub(r'"\s*\n\s*f?"', "", "\n".join(sources))  # a sentence goes over several lines
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    messages = re.findall(r"^\| `([^`…]+)", page, re.MULTILINE)
    assert len(messages) > 15
    for message in messages:
        assert message.strip() in said, message


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(r"(?:`|^ *)make ([a-z][a-z-]*)", document.read_text(), re.MULTILINE)
        assert [name for name in named if name not in targets] == [], document


def test_what_keeps_a_promise_is_where_the_page_of_promises_says():
    for promise, code, _ in PROMISES:
        places = re.findall(r"`([\w/]+/(?:\w+\.py)?|\w+/\w+)`(?:: ((?:`[\w.]+`(?:, )?)+))?", code)
        assert places, promise
        for place, names in places:
            found = [
                ROOT / above / place
                for above in ("lifoq", "functions", "")
                if (ROOT / above / place).exists()
            ]
            assert found, (promise, place)
            for name in re.findall(r"`([\w.]+)`", names):
                if found[0].is_dir():
                    assert (found[0] / name).exists(), (promise, place, name)
                else:
                    defined = rf"\b(def|class) {name.rpartition('.')[2]}\b"
                    assert re.search(defined, found[0].read_text()), (promise, place, name)


MATRIX = "".join(
    (ROOT / "tests" / "faults" / f"{each}.py").read_text() for each in ("paths", "faults")
)
"""The names of paths and faults."""


def test_each_promise_has_a_test_on_its_page_and_all_that_are_named_there_exist():
    """Words after a file, up to a full stop, are those of its tests' names: one can search them."""
    assert len(PROMISES) > 15
    for promise, _, tests in PROMISES:
        rules = re.findall(r"`(\w+\.py)`", tests)
        assert [one for one in rules if not (ROOT / "tests" / "simulation" / one).exists()] == []
        assert rules or re.search(r"`\w+/test_\w+\.py`", tests), promise
        (matrix,) = re.findall(r"Fault matrix: ([^.|]*)", tests) or [""]
        assert [
            name for name in re.findall(r"\*([^*]+)\*", matrix) if f'"{name}"' not in MATRIX
        ] == []
    named = re.findall(r"`(\w+/test_\w+\.py)`(?:: ([^.`|]+))?", INVARIANTS.read_text())
    for file, words in named:
        tests = re.findall(r"^def (test_\w+)", (ROOT / "tests" / file).read_text(), re.MULTILINE)
        assert tests, file
        for told in filter(None, words.split(";")):
            name = re.sub(r"\W+", "_", told.lower()).strip("_")
            assert [test for test in tests if name in test], (file, told)


def test_each_file_and_function_of_the_tour_is_there():
    page = (ROOT / "docs" / "tour.md").read_text()
    stations = re.findall(r"`([\w/]+\.py)`(?:: ((?:`\w+`(?:, )?)+))?", page)
    assert len(stations) > 30
    for file, names in stations:
        source = (ROOT / file).read_text()
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b(def|class) {name}\b|^{name} = ", source, re.MULTILINE), (
                f"{file} has no {name}"
            )


def test_the_program_of_the_tour_goes_all_the_way():
    (program,) = re.findall(
        r"^```python.*?\n(.*?)^```$",
        (ROOT / "docs" / "tour.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert ran.stdout == "SUCCESS Hello, Ada!\n"


def test_the_page_of_metrics_has_each_with_its_unit_and_meaning():
    page = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", page, re.MULTILINE)
    assert rows == [
        (metric.value, metric.unit.value.lower(), metric.meaning)
        for gauge in (False, True)
        for metric in Metric
        if metric.gauge is gauge
    ]


def _prose(document: Path) -> str:
    """Without code, where brackets are no links."""
    return re.sub(r"```.*?```|`[^`]*`", "", document.read_text(), flags=re.DOTALL)


@cache
def _anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
