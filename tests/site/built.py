# SPDX-License-Identifier: BSL-1.0
"""The site, built into a separate folder, and the content of its pages."""
import html.parser
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"
SKIPPED = 77


def skip_without_mkdocs() -> None:
    if shutil.which("mkdocs") is None:
        print("skipped: there is no mkdocs here; cmake/packages.sh docs installs it")
        sys.exit(SKIPPED)


def build(folder: pathlib.Path, config: pathlib.Path = CONFIG) -> subprocess.CompletedProcess:
    """As docs/build.sh does, but for the packages."""
    return subprocess.run(["mkdocs", "build", "--strict", "--clean", "--config-file", str(config), "--site-dir", str(folder)],
                          capture_output=True, text=True, timeout=280, check=False)


class Page(html.parser.HTMLParser):
    """What a page loads, where its links lead, and which anchors it has."""
    LOADS = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src", "embed": "src", "object": "data"}

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in self.LOADS and given.get(self.LOADS[tag]):
            self.loads.append(given[self.LOADS[tag]])
        if tag == "link" and given.get("href") and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
