# SPDX-License-Identifier: BSL-1.0
"""One program, built by a project that depends on ration in each possible way; the table has the result and the time of each way.

    ways.py --source CHECKOUT [--clean-root] [--compiler CXX] [--generator NAME] [WAY...]

With --clean-root nothing is hidden from the compiler and CMake, because nothing is there: clean_root.sh makes such a place.

Exit code 0 when all passed, 1 when one failed, 77 when none failed and one was skipped.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import conan_way
import sandbox
import vcpkg_way
from setting import Broken, Setting, Skipped

HERE = pathlib.Path(__file__).resolve().parent


def configure_and_run(setting, way, *options, **environment):
    build = setting.folder / way
    setting.run(["cmake", "-S", HERE / way, "-B", build, "-G", setting.generator, f"-DCMAKE_CXX_COMPILER={setting.compiler}",
                 f"-DCMAKE_MAKE_PROGRAM={setting.make_program}", f"-DCMAKE_CXX_FLAGS={' '.join(setting.flags)}",
                 *setting.cmake_settings, *options], **environment)
    setting.run(["cmake", "--build", build])
    setting.run([build / "consumer"])
    setting.require_own_libraries_only(build / "consumer")


def by_find_package(setting):
    configure_and_run(setting, "find_package", f"-DCMAKE_PREFIX_PATH={setting.prefix()}")


def by_add_subdirectory(setting):
    configure_and_run(setting, "add_subdirectory", f"-DRATION_SOURCE={setting.source}")


def by_fetch_content(setting):
    configure_and_run(setting, "fetch_content", f"-DRATION_REPOSITORY=file://{setting.repository()}",
                      f"-DRATION_COMMIT={setting.commit()}", f"-DGIT_EXECUTABLE={setting.program('git')}")


def by_pkg_config(setting):
    configure_and_run(setting, "pkg_config", f"-DPKG_CONFIG_EXECUTABLE={setting.program('pkg-config')}",
                      PKG_CONFIG_LIBDIR=str(setting.prefix() / "share/pkgconfig"))


WAYS = {
    "find_package": by_find_package,
    "add_subdirectory": by_add_subdirectory,
    "FetchContent": by_fetch_content,
    "pkg-config": by_pkg_config,
    "Conan": conan_way.build,
    "vcpkg": vcpkg_way.build,
}
HIDDEN = ("boost/hana.hpp", "hwloc.h", "cuda_runtime.h", "range/v3/all.hpp")


def check_what_is_seen(setting):
    """What is to be hidden is hidden, and what is not is not: otherwise a way that passes shows nothing."""
    here = [header for header in HIDDEN if sandbox.sees(setting.compiler, [], header)]
    seen = [header for header in here if sandbox.sees(setting.compiler, setting.flags, header)]
    if seen or not sandbox.sees(setting.compiler, setting.flags, "vector"):
        raise SystemExit(f"ways: a compiler that must not sees {seen or 'too little'}")
    print(f"core is built where these cannot be seen, of which this machine has {', '.join(here) or 'none'}: {', '.join(HIDDEN)}")


def ask_for_hwloc(setting):
    """Where hwloc is missing, CMake reports this to a consumer that asks for it; returns CMake's reason."""
    try:
        setting.run(["cmake", "-S", HERE / "hwloc_asked_for", "-B", setting.folder / "hwloc_asked_for", "-G", setting.generator,
                     f"-DCMAKE_CXX_COMPILER={setting.compiler}", f"-DCMAKE_PREFIX_PATH={setting.prefix()}"])
    except Broken as refusal:
        return " ".join(str(refusal).partition("Reason given by package:")[2].partition("-- Configuring")[0].split())
    raise SystemExit("ways: hwloc was found where it is not")


def try_way(setting, name):
    begin = time.monotonic()
    try:
        note = WAYS[name](setting)
        result = f"passed{f', {note}' if note else ''}"
    except Skipped as reason:
        result = f"skipped: {reason}"
    except Broken as reason:
        print(f"\n{name}: {reason}\n")
        result = "FAILED"
    return name, result, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--clean-root", action="store_true")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--generator", default="Ninja" if shutil.which("ninja") else "Unix Makefiles")
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"all, or some of {', '.join(WAYS)}")
    given = parser.parse_args()
    unknown = set(given.ways) - WAYS.keys()
    if unknown:
        parser.error(f"there is no way {', '.join(sorted(unknown))}: name some of {', '.join(WAYS)}")
    with tempfile.TemporaryDirectory(prefix="ration-ways-") as folder:
        setting = Setting(given.source.resolve(), pathlib.Path(folder), shutil.which(given.compiler), given.generator)
        if not given.clean_root:
            setting.shut_in(sandbox.build(setting.compiler, setting.folder / "headers"), sandbox.CMAKE_SETTINGS)
        check_what_is_seen(setting)
        rows = [try_way(setting, name) for name in given.ways or WAYS]
        refusal = ask_for_hwloc(setting) if given.clean_root else ""
    for name, result, seconds in rows:
        print(f"{name:18} {seconds:6.1f} s  {result}")
    if given.clean_root:
        print(f"{'hwloc asked for':18} {'':8}  {refusal}")
    if any(result == "FAILED" for _, result, _ in rows):
        return 1
    skipped = [f"{name}: {result.removeprefix('skipped: ')}" for name, result, _ in rows if result.startswith("skipped")]
    if skipped:
        print(f"skipped: {'; '.join(skipped)}")
    return 77 if skipped else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as broken:
        sys.exit(f"ways: {broken}\n{broken.stderr}")
