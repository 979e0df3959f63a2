# SPDX-License-Identifier: BSL-1.0
"""The program: python3 -m ration run jobs.toml. A package without the program uses the one in PATH."""
import os
import pathlib
import shutil
import sys


def program():
    """The path of the program; None without a program."""
    inside = pathlib.Path(__file__).resolve().parent / "installed" / "bin" / "ration"
    return str(inside) if inside.exists() else shutil.which("ration")


def main():
    path = program()
    if path is None:
        sys.exit("ration: the program is not in this package, and not in PATH; build the wheel with it (docs/depending.md)")
    os.execv(path, ["ration", *sys.argv[1:]])


if __name__ == "__main__":
    main()
