#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes the pictures of docs/choosing.md again: tests/choosing/pictures.py PATH/TO/ration

Each is some of the charts of the page that the command in the document makes, in headless Chromium. The figures are the same on every machine;
how letters are drawn is not, so that no test compares the pictures themselves.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from page import ROOT, Part, parts

WIDTH = 880
# The command's name in the document, and the charts of its page that make the picture.
PICTURES = {
    "targets": ["mean to Acceptable", "mean to Objective"],
    "fixed-sizes": ["mean JCT", "worst rho"],
    "elastic": ["mean JCT", "worst rho"],
}
# Leaves only the named charts on the page, and stores its new height in it.
ONLY = """<script>addEventListener("load", () => {
  const wanted = %s, kept = wanted.map(title => [...document.querySelectorAll("figure")].find(one => one.querySelector("h3").textContent === title));
  const cards = kept[0].parentElement;
  for (const one of [...cards.children]) if (!kept.includes(one)) one.remove();
  for (const one of [...document.querySelectorAll("#page > *")]) if (!one.contains(cards)) one.remove();
  document.querySelectorAll("figure details").forEach(one => one.remove());
  document.body.dataset.high = Math.ceil(document.documentElement.getBoundingClientRect().height);
});</script></body>"""


def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        sys.exit("choosing: there is no Chromium; install it by cmake/packages.sh browser")
    return found


def opened(page: pathlib.Path, high: int, *words: str) -> str:
    return subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={page.parent}/profile",
                           f"--window-size={WIDTH},{high}", "--virtual-time-budget=3000", *words, page.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout


def picture(ration: str, part: Part, titles: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="ration-") as kept:
        folder, page = pathlib.Path(kept), pathlib.Path(kept) / "page.html"
        (folder / "bench").symlink_to(ROOT / "bench")
        (folder / "ration").symlink_to(ration)
        commands = "\n".join([*part.commands[:-1], f"{part.commands[-1]} --quiet --report page.html"])
        subprocess.run(["bash", "-c", commands], cwd=folder, env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), stdout=subprocess.DEVNULL, check=False)
        page.write_text(page.read_text().replace("</body>", ONLY % json.dumps(titles)))
        high = int(re.search(r'data-high="(\d+)"', opened(page, 2000, "--dump-dom"))[1])
        opened(page, high, f"--screenshot={folder}/picture.png")
        shutil.copyfile(folder / "picture.png", ROOT / f"docs/pictures/choosing-{part.name}.png")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for part in parts():
        if part.name in PICTURES:
            picture(os.path.abspath(sys.argv[1]), part, PICTURES[part.name])


if __name__ == "__main__":
    main()
