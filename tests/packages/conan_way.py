# SPDX-License-Identifier: BSL-1.0
"""conanfile.py, by Conan 2 in a separate virtual environment: nothing of the user's Conan is read or changed."""

import sys

import sandbox
from setting import Broken, Skipped

CONAN = "conan>=2.4,<3"
# The options, and which libraries of the system they bring in place of ConanCenter's packages.
VARIANTS = (((), ()), (("with_boost", "with_hwloc"), ("boost/1.74.0", "hwloc/2.9.0")))


def install_conan(setting):
    home = setting.folder / "conan-venv"
    try:
        setting.run([sys.executable, "-m", "venv", home])
    except Broken:
        raise Skipped("this Python makes no virtual environment: install python3-venv") from None
    try:
        setting.run([home / "bin/pip", "install", "--quiet", "--retries", "1", CONAN])
    except Broken as broken:
        raise Skipped(f"Conan could not be had from PyPI: {str(broken).strip().splitlines()[-1]}") from None
    return home / "bin/conan"


def profile(setting, platform):
    """The default profile, in C++20, with what is installed on this system given as platform requirements."""
    requirements = "".join(f"{name}\n" for name in platform)
    text = (f"include(default)\n[settings]\ncompiler.cppstd=20\n[conf]\ntools.cmake.cmaketoolchain:generator={setting.generator}\n"
            f"[platform_requires]\n{requirements}")
    path = setting.folder / f"profile-{len(platform)}"
    path.write_text(text)
    return path


def build(setting):
    conan = install_conan(setting)
    environment = {"CONAN_HOME": str(setting.folder / "conan-home"), "CXX": setting.compiler}
    setting.run([conan, "profile", "detect"], **environment)
    source = setting.repository()  # a copy: Conan writes build folders beside the test package
    tried = []
    for options, platform in VARIANTS:
        if platform and not all(sandbox.sees(setting.compiler, [], header) for header in ("boost/hana.hpp", "hwloc.h")):
            tried.append("not with system libraries: Boost and hwloc are not both installed")
            continue
        said = setting.run([conan, "create", source, "--profile:all", profile(setting, platform), "--no-remote",
                            *(f"--options=&:{option}=True" for option in options)], **environment)
        if f"ration/{setting.version()}" not in said:
            raise Broken(f"the package has another version than version.hpp:\n{said}")
        tried.append(" ".join(options) or "core")
    return f"conan create: {', '.join(tried)}"
