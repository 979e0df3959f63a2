# SPDX-License-Identifier: BSL-1.0
"""What MkDocs does beside its own for docs/: files outside of docs/ that a page links to or quotes become pages too, below source/.

So the site is whole by itself: a link to a header leads to the header, without a forge. Quoted regions name their file above the block.
"""

import json
import pathlib
import posixpath
import re
import shutil
import sys
import tempfile

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from reference import make_reference  # noqa: E402  # MkDocs does not search the folder of a hook

ROOT = pathlib.Path(__file__).resolve().parents[2]
BELOW = "source"
ALSO = ("bench/README.md", "CONTRIBUTING.md", "CHANGELOG.md")  # in the navigation, whether or not a page links to them
SHOWN = ("site/style.css", "site/logo.svg")                    # files of docs/site that are copied to the site
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".sh": "sh", ".toml": "toml", ".txt": "cmake", ".cmake": "cmake"}

_FENCE = re.compile(r"^[ ]{0,3}(```+|~~~+)")
_REGION = re.compile(r"^<!--\s*region:\s*(\S+?)#[\w.-]+\s*-->\s*$")
_LINK = re.compile(r"(`[^`\n]*`)|\]\(([^()\s#]+)(#[^()\s]*)?\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.I)


def _is_in_docs(path):
    return path.startswith("docs/") and path != "docs/build.sh" and not path.startswith("docs/site/")


def _whole(path):
    """What is shown of a folder: its README, where it has one."""
    return f"{path}/README.md" if (ROOT / path / "README.md").is_file() else path


def _page_of(path):
    """Where a file or folder of the tree is in the site, as a source of MkDocs."""
    path = _whole(path)
    if _is_in_docs(path):
        return path[len("docs/"):]
    return f"{BELOW}/{path}" if path.endswith(".md") else f"{BELOW}/{path}.md"


def _path_of(page):
    """The file of the tree that a source of MkDocs shows; the other way round of _page_of."""
    if not page.startswith(f"{BELOW}/"):
        return f"docs/{page}"
    path = page[len(BELOW) + 1:]
    return path if (ROOT / path).exists() else path[:-len(".md")]


def _lines(markdown):
    """(line, whether it is prose): neither inside a fenced block nor its fence."""
    fence = None
    for line in markdown.split("\n"):
        match = _FENCE.match(line)
        if match and fence is None:
            fence = match[1]
        elif match and line.strip().startswith(fence):
            fence = None
        else:
            match = None
        yield line, fence is None and match is None


def _target_of(path, link):
    """The file or folder of the tree that a link in the file `path` leads to; None for an address, an anchor, or nothing there."""
    if _ELSEWHERE.match(link):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return target if not target.startswith("..") and (ROOT / target).exists() else None


def _relative(path, target):
    return posixpath.relpath(_page_of(target), posixpath.dirname(_page_of(path)) or ".")


def named_in(path, markdown):
    """The files outside of docs/ that this page quotes or links to."""
    for line, is_prose in _lines(markdown):
        region = _REGION.match(line)
        links = [] if not is_prose else [match[2] for match in _LINK.finditer(line) if match[2]]
        for target in [region[1]] if region else [_target_of(path, link) for link in links]:
            if target is not None and not _is_in_docs(target):
                yield target


def rewritten(path, markdown):
    """The page with links that lead to pages, and with the file's name above each quoted region."""
    def led(match):
        target = None if match[1] else _target_of(path, match[2])
        if target is None:
            return match[0]
        return f"]({_relative(path, target)}{match[3] or ''})"

    def shown(line, is_prose):
        region = _REGION.match(line)
        if region:
            return f"[{region[1]}]({_relative(path, region[1])}){{ .from }}\n"
        return _LINK.sub(led, line) if is_prose else line

    return "\n".join(shown(line, is_prose) for line, is_prose in _lines(markdown))


def _as_page(path):
    """A file or folder of the tree as Markdown."""
    place = ROOT / path
    if place.is_dir():
        inside = sorted(one.name for one in place.iterdir() if not one.name.startswith((".", "__")))
        return f"# {path}\n\n" + "".join(f"- [{name}]({posixpath.basename(path)}/{name})\n" for name in inside)
    text = place.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    return f"# {path}\n\n~~~~~~~~ {LANGUAGES.get(place.suffix, 'text')}\n{text}~~~~~~~~\n"


def on_config(config):
    config["ration_sources"] = tempfile.mkdtemp(prefix="ration-site-")
    return config


def on_files(files, config):
    for file in [one for one in files if not _is_in_docs(f"docs/{one.src_path}") and one.src_path not in SHOWN]:
        files.remove(file)
    place = pathlib.Path(config["ration_sources"])
    wanted, made = list(ALSO), set()
    for page in files.documentation_pages():
        wanted += named_in(_path_of(page.src_path), pathlib.Path(page.abs_src_path).read_text(encoding="utf-8"))
    while wanted:
        path = _whole(wanted.pop())
        if path in made:
            continue
        made.add(path)
        markdown, page = _as_page(path), place / _page_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(markdown, encoding="utf-8")
        files.append(File(_page_of(path), str(place), config["site_dir"], config["use_directory_urls"]))
        if path.endswith(".md") or (ROOT / path).is_dir():
            wanted += named_in(path, markdown)
    return files


def on_page_markdown(markdown, page, **_):
    return rewritten(_path_of(page.file.src_path), markdown)


def on_post_build(config):
    shutil.rmtree(config["ration_sources"])
    index = pathlib.Path(config["site_dir"]) / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    found["docs"] = [one for one in found["docs"] if not one["location"].startswith(f"{BELOW}/")]  # a search is for what explains
    index.write_text(json.dumps(found), encoding="utf-8")
    make_reference(ROOT, pathlib.Path(config["site_dir"]))
