# SPDX-License-Identifier: BSL-1.0
"""The overlay port cmake/vcpkg/ration: by vcpkg where that is installed, otherwise by a fake for the functions that a portfile calls.

Either way the installed files are validated against vcpkg's documented rules for a package, and the port's usage text is used unchanged.
"""

import json
import pathlib
import re
import shutil

import sandbox
from setting import Broken, files_below

HERE = pathlib.Path(__file__).resolve().parent
DEPRECATED = re.compile(r"vcpkg_(configure_cmake|install_cmake|build_cmake|fixup_cmake_targets|find_fortran|check_linkage)\b")


def manifest_problems(port, portfile, version):
    manifest = json.loads((port / "vcpkg.json").read_text())
    features = manifest.get("features", {})
    if manifest["name"] != port.name or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"]):
        yield f"the name {manifest['name']} is not that of the port's folder, in lower case"
    if manifest["version"] != version:
        yield f"vcpkg.json says version {manifest['version']}, include/ration/version.hpp {version}: write that in vcpkg.json"
    for key in ("description", "license", "supports"):
        if not manifest.get(key):
            yield f"vcpkg.json has no {key}"
    for name, feature in features.items():
        if not feature.get("description"):
            yield f"the feature {name} has no description"
    helpers = {d["name"] for d in manifest["dependencies"] if isinstance(d, dict) and d.get("host")}
    if helpers != {"vcpkg-cmake", "vcpkg-cmake-config"}:
        yield f"vcpkg_cmake_* come from the host ports vcpkg-cmake and vcpkg-cmake-config, and not from {helpers}"
    named = set(re.findall(r"^\s+(\w+) CMAKE_(?:DISABLE|REQUIRE)_FIND_PACKAGE", portfile, re.M))
    if named != features.keys():
        yield f"the portfile decides by the features {named}, the manifest has {set(features)}"


def portfile_problems(portfile):
    if DEPRECATED.search(portfile):
        yield f"{DEPRECATED.search(portfile)[0]} is deprecated"
    if re.search(r"file\(DOWNLOAD|execute_process|https?://", portfile):
        yield "a portfile downloads and runs nothing by itself"


def package_problems(package, source, places):
    """What vcpkg's post-build checks look at, for a package of headers."""
    files = files_below(package)
    stray = [name for name in files if not name.startswith(("include/ration/", "share/ration/", "share/pkgconfig/ration.pc"))]
    if stray:
        yield f"only headers, share/ration and ration.pc belong there: {stray[:5]}"
    for wanted in ("include/ration/ration.hpp", "share/ration/copyright", "share/ration/usage", "share/ration/ration-config.cmake",
                   "share/ration/ration-config-version.cmake", "share/pkgconfig/ration.pc"):
        if wanted not in files:
            yield f"{wanted} is not there"
    empty = [str(path) for path in package.rglob("*") if path.is_dir() and not any(path.iterdir())]
    if empty:
        yield f"empty folders: {empty}"
    if (package / "share/ration/copyright").read_text() != (source / "LICENSE").read_text():
        yield "copyright is not the licence"
    for name in files:
        text = (package / name).read_text()
        for place in places:
            if str(place) in text:
                yield f"{name} names {place}, which only this machine has"


def commands_of(usage):
    """The CMake of a usage text: its indented lines."""
    return "".join(line.strip() + "\n" for line in usage.splitlines() if line.startswith("  "))


def by_fake_driver(setting, port, features):
    name = "-".join(features) or "core"
    package, build = setting.folder / f"vcpkg-{name}/packages", setting.folder / f"vcpkg-{name}/build"
    setting.run(["cmake", f"-DPORT_DIR={port}", f"-DCURRENT_PACKAGES_DIR={package}", f"-DCURRENT_BUILDTREES_DIR={build}",
                 f"-DGENERATOR={setting.generator}", f"-DCOMPILER={setting.compiler}", f"-DFEATURES={','.join(features)}",
                 "-P", HERE / "vcpkg/functions.cmake"])
    return package, (package, build)


def by_vcpkg(setting, port, features):
    root = setting.folder / f"vcpkg-root-{len(features)}"
    asked = f"ration[{','.join(features)}]" if features else "ration"
    setting.run(["vcpkg", "install", asked, f"--overlay-ports={port.parent}", f"--x-install-root={root}",
                 f"--x-packages-root={root}-packages"])
    return next(root.glob("*-linux*")), (root,)


def use(setting, package):
    """The consumer sees the package and what the sandbox shows."""
    usage = setting.folder / "usage.cmake"
    usage.write_text(commands_of((package / "share/ration/usage").read_text()))
    build = setting.folder / "vcpkg"
    setting.run(["cmake", "-S", HERE / "vcpkg", "-B", build, "-G", setting.generator, f"-DCMAKE_CXX_COMPILER={setting.compiler}",
                 f"-DCMAKE_MAKE_PROGRAM={setting.make_program}", f"-DCMAKE_CXX_FLAGS={' '.join(setting.flags)}", *setting.cmake_settings,
                 f"-DCMAKE_PREFIX_PATH={package}", f"-DUSAGE={usage}"])
    setting.run(["cmake", "--build", build])
    setting.run([build / "consumer"])


def build(setting):
    port = setting.repository() / "cmake/vcpkg/ration"  # the way works from a checkout: this is one
    portfile = (port / "portfile.cmake").read_text()
    problems = [*manifest_problems(port, portfile, setting.version()), *portfile_problems(portfile)]
    by = by_vcpkg if shutil.which("vcpkg") else by_fake_driver
    package, places = by(setting, port, ())
    if by is by_fake_driver:
        problems += package_problems(package, setting.source, places)
        if any("/adapt" in name or "/hwloc/" in name for name in files_below(package)):
            problems.append("a component came without the feature that it belongs to")
        if all(sandbox.sees(setting.compiler, [], header) for header in ("boost/hana.hpp", "hwloc.h")):
            everything, places = by(setting, port, ("boost", "hwloc"))
            problems += package_problems(everything, setting.source, places)
            if not {"include/ration/adapt/adapt.hpp", "include/ration/hwloc/placement.hpp"} <= set(files_below(everything)):
                problems.append("a feature did not bring its component")
    if problems:
        raise Broken("\n".join(problems))
    use(setting, package)
    return "by vcpkg" if by is by_vcpkg else "by a fake for vcpkg's functions; the tool is not installed"
