# SPDX-License-Identifier: BSL-1.0
"""A compiler that sees the headers of the C++ standard library, those that they include, and no other.

Whatever else is installed on the machine (Boost, hwloc, CUDA, range-v3, ...) does not exist for who compiles with these flags, and
for a CMake that is configured with these settings. No privilege is needed, and what is hidden need not be known by name.
"""

import pathlib
import re
import subprocess

STANDARD_LIBRARY = """algorithm any array atomic barrier bit bitset charconv chrono cassert cctype cerrno cfenv cfloat cinttypes climits
clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime
cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd
iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional ostream queue random
ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string
string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version""".split()

# CMake finds no package of the system, and searches only below CMAKE_PREFIX_PATH.
CMAKE_SETTINGS = ["-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF",
                  "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"]


def _run(command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def include_directories(compiler):
    said = _run([compiler, "-std=c++20", "-x", "c++", "-E", "-v", "-"]).stderr
    listed = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", said, re.S)
    return [pathlib.Path(line.strip()).resolve() for line in listed[1].splitlines()]


def standard_headers(compiler):
    """The files that all headers of the standard library include, directly or not. Parallel algorithms bring TBB: they stay outside."""
    text = "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in STANDARD_LIBRARY if name != "execution")
    rule = _run([compiler, "-std=c++20", "-Wno-deprecated", "-x", "c++", "-M", "-MT", "x", "-"], text).stdout
    return [pathlib.Path(name) for name in rule.replace("\\\n", " ").split()[1:] if name.startswith("/")]


def build(compiler, folder):
    """Makes the sandbox in `folder`, and returns the flags that shut the compiler in."""
    directories = include_directories(compiler)
    for header in standard_headers(compiler):
        header = header.parent.resolve() / header.name
        for place in (folder / str(i) / header.relative_to(d) for i, d in enumerate(directories) if d in header.parents):
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                place.symlink_to(header)
    made = [folder / str(i) for i in range(len(directories))]
    return ["-nostdinc", "-nostdinc++", *(f"-isystem{place}" for place in made if place.is_dir())]


def sees(compiler, flags, header):
    done = subprocess.run([compiler, "-std=c++20", *flags, "-x", "c++", "-fsyntax-only", "-"], input=f"#include <{header}>\n",
                          capture_output=True, text=True, check=False)
    return done.returncode == 0
