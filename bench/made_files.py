# SPDX-License-Identifier: BSL-1.0
"""Files of the documentation that a script makes from recorded figures: `--write` writes them, and `--check` compares them."""
import argparse
import pathlib
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main(description: str, make: Callable[[], dict[pathlib.Path, str]], source: str, command: str) -> int:
    """The exit code: 1 if `--check` finds another text than that of `make`. The message has `source` and `command`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--check", action="store_true")
    group.add_argument("--write", action="store_true")
    given = parser.parse_args()
    made = make()
    if given.write:
        for path, text in made.items():
            path.write_text(text)
        return 0
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: differs from {source}; run {command} --write")
    return 1 if stale else 0
