# SPDX-License-Identifier: BSL-1.0
"""The place where the ways are tried: a separate folder, a compiler that sees little, an install and a repository made at the first request."""

import functools
import os
import pathlib
import re
import shutil
import subprocess

PARTS = ("TOOLS", "TESTS", "EXAMPLES", "BENCH")
# What every C++ program on Linux needs.
OWN_LIBRARIES = re.compile(r"linux-vdso|lib(stdc\+\+|c\+\+|c\+\+abi|unwind|m|gcc_s|c|pthread|asan|ubsan|tsan)\.so|ld-linux")


class Skipped(Exception):
    """This way cannot be tried here; the text is the reason."""


class Broken(Exception):
    """A step of a way failed; the text has its output."""


class Setting:
    def __init__(self, source, folder, compiler, generator):
        self.source, self.folder, self.compiler, self.generator = source, folder, compiler, generator
        self.make_program = self.program("ninja" if generator == "Ninja" else "make")
        self.flags, self.cmake_settings = [], []

    def shut_in(self, flags, cmake_settings):
        """With these, a compiler and CMake see less than there is."""
        self.flags, self.cmake_settings = flags, cmake_settings

    @staticmethod
    def program(name):
        found = shutil.which(name)
        if found is None:
            raise Skipped(f"the program {name} is not installed")
        return found

    def run(self, command, folder=None, **environment):
        command = [str(part) for part in command]
        done = subprocess.run(command, cwd=folder or self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, **environment})
        if done.returncode != 0:
            raise Broken(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    @functools.lru_cache
    def prefix(self):
        """An install of what a package has: headers and CMake files, as a packager makes it."""
        build, prefix = self.folder / "ration-build", self.folder / "prefix"
        self.run(["cmake", "-S", self.source, "-B", build, "-G", self.generator, f"-DCMAKE_CXX_COMPILER={self.compiler}",
                  *(f"-DRATION_BUILD_{part}=OFF" for part in PARTS)])
        self.run(["cmake", "--install", build, "--prefix", prefix, "--component", "ration-development"])
        return prefix

    @functools.lru_cache
    def repository(self):
        """A repository with this checkout in its present state, changes that are not committed included."""
        mirror = self.folder / "mirror"
        if (self.source / ".git").exists():
            listed = self.run([self.program("git"), "ls-files", "-z", "-co", "--exclude-standard"], self.source)
            for name in filter(None, listed.split("\0")):
                if (self.source / name).is_file():
                    (mirror / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(self.source / name, mirror / name)
        else:
            shutil.copytree(self.source, mirror, ignore=shutil.ignore_patterns("build"))
        git = [self.program("git"), "-C", mirror, "-c", "user.name=ways", "-c", "user.email=ways@localhost", "-c", "commit.gpgsign=false"]
        self.run([*git, "init", "-q"])
        self.run([*git, "add", "-A", "-f"])
        self.run([*git, "commit", "-q", "-m", "As it stands"])
        return mirror

    def commit(self):
        return self.run([self.program("git"), "-C", self.repository(), "rev-parse", "HEAD"]).strip()

    def version(self):
        header = (self.source / "include/ration/version.hpp").read_text()
        return ".".join(re.findall(r"#define RATION_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def require_own_libraries_only(self, program):
        for line in self.run(["ldd", program]).splitlines():
            if not OWN_LIBRARIES.search(line):
                raise Broken(f"the program needs {line.strip()}: core links nothing")


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if not path.is_dir())
