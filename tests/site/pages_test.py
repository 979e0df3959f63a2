# SPDX-License-Identifier: BSL-1.0
"""The site of docs/ is built without a warning and is whole: every page can be found, every link leads somewhere, nothing comes from a network."""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import urllib.parse

from built import CONFIG, ROOT, Page, build, skip_without_mkdocs

FOREIGN = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.I)
IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


def named_in_navigation() -> list[str]:
    text = CONFIG.read_text(encoding="utf-8")
    return re.findall(r"^ +- [^#\n]*?:? ?([\w./-]+\.md)$", text[text.index("\nnav:"):], re.MULTILINE)


class Navigation(unittest.TestCase):
    def test_every_page_is_in_it_once(self) -> None:
        pages = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
        self.assertEqual(sorted(one for one in named_in_navigation() if not one.startswith("source/")), pages)

    def test_every_decision_is_in_the_list_of_decisions(self) -> None:
        listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs/adr/README.md").read_text(encoding="utf-8"))
        self.assertEqual(listed, sorted(page.name for page in (ROOT / "docs/adr").glob("[0-9]*.md")))

    def test_every_page_is_in_the_list_of_pages(self) -> None:
        front = (ROOT / "docs/README.md").read_text(encoding="utf-8")
        for page in (ROOT / "docs").glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", front)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name) / "site"
        cls.built = build(cls.place)
        cls.pages = {path: Page(path) for path in cls.place.rglob("*.html")
                     if path.name != "404.html" and path.parent.name != "api"}  # Doxygen's pages have tests below

    def test_it_is_built_without_a_warning(self) -> None:
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        self.assertNotIn("WARNING", self.built.stderr)
        self.assertGreater(len(self.pages), 40)

    def test_no_page_asks_the_network_for_anything(self) -> None:
        for path, page in self.pages.items():
            self.assertEqual([one for one in page.loads if FOREIGN.match(one)], [], path)
            for one in page.loads:
                target = path.parent / urllib.parse.unquote(urllib.parse.urlparse(one).path)
                self.assertTrue(target.exists() or one.startswith("data:"), f"{path}: {one}")
        for sheet in self.place.rglob("*.css"):
            for match in IN_CSS.finditer(sheet.read_text(encoding="utf-8")):
                self.assertIsNone(FOREIGN.match(match[1] or match[2]), sheet)

    def test_links_and_anchors_lead_somewhere(self) -> None:
        dead = []
        for path, page in self.pages.items():
            for link in page.links:
                if FOREIGN.match(link) or link.startswith(("mailto:", "javascript:")):
                    continue
                name, _, anchor = link.partition("#")
                target = (path.parent / urllib.parse.unquote(name)).resolve() if name not in ("", ".") else path.resolve()
                target = target / "index.html" if target.is_dir() else target
                known = self.pages.get(target)
                if not target.is_file() or (anchor and known is not None and urllib.parse.unquote(anchor) not in known.anchors | {"__skip"}):
                    dead.append(f"{path.relative_to(self.place)}: {link}")
        self.assertEqual(dead, [])

    def test_what_lies_outside_of_docs_is_there_too(self) -> None:
        text = (self.place / "cookbook.html").read_text(encoding="utf-8")
        self.assertIn('href="source/tests/cookbook/devices.hpp.html"', text)
        self.assertNotIn("<!-- region", text)
        shown = (self.place / "source/tests/cookbook/devices.hpp.html").read_text(encoding="utf-8")
        self.assertIn("short_queue", shown)

    def test_a_search_finds_what_explains(self) -> None:
        found = {one["location"] for one in json.loads((self.place / "search/search_index.json").read_text(encoding="utf-8"))["docs"]}
        self.assertIn("cookbook.html#whole-gangs", found)
        self.assertEqual([one for one in found if one.startswith("source/")], [])


    @unittest.skipUnless(shutil.which("doxygen"), "there is no doxygen here")
    def test_the_reference_has_what_is_public_and_nothing_private(self) -> None:
        pages = {path.name: path.read_text(encoding="utf-8") for path in (self.place / "api").glob("*.html")}
        self.assertIn("structration_1_1grant.html", pages)
        self.assertIn("engine.hpp", pages["files.html"])
        self.assertNotIn("good_answer.hpp", pages["files.html"])
        self.assertIn("The store in which a host keeps its snapshot", pages["snapshot__store_8hpp.html"])
        self.assertIn("Errors:", pages["classration_1_1snapshot__store.html"])


class Warnings(unittest.TestCase):
    """A site with a mistake is not built: what the tests above rest on."""

    def broken(self, page: str, text: str, header: str = "/// Good.\nint a();\n") -> str:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "tree"
            shutil.copytree(ROOT / "docs", copy / "docs")
            for name in ("bench/README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
                (copy / name).parent.mkdir(exist_ok=True)
                (copy / name).write_text("# A page\n")
            for one in (copy / "docs").rglob("*.md"):
                one.write_text(f"# {one.stem}\n")
            (copy / "docs" / page).write_text(text)
            (copy / "include").mkdir()
            (copy / "include" / "a.hpp").write_text(header)
            (copy / "backends").mkdir()
            done = build(copy / "site", copy / "docs/site/mkdocs.yml")
            return done.stderr if done.returncode else ""

    def test_a_page_that_is_right(self) -> None:
        self.assertEqual(self.broken("run.md", "# Run\n\n[there](sim.md)\n"), "")

    def test_a_link_to_nothing(self) -> None:
        self.assertIn("gone.md", self.broken("run.md", "# Run\n\n[there](gone.md)\n"))

    @unittest.skipUnless(shutil.which("doxygen"), "there is no doxygen here")
    def test_a_comment_that_doxygen_cannot_read(self) -> None:
        self.assertIn("there_is_no_b", self.broken("run.md", "# Run\n", "/// @param there_is_no_b A parameter.\nint a(int b);\n"))


if __name__ == "__main__":
    skip_without_mkdocs()
    sys.exit(unittest.main())
