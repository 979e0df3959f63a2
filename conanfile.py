# SPDX-License-Identifier: BSL-1.0
"""The headers of ration as a package: components core, process, cgroup, progress, cuda, fake and hwloc, as in its CMake package."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# Component: what it requires.
COMPONENTS = {
    "core": [],
    "process": ["core"],
    "cgroup": ["core", "process"],
    "progress": ["core"],
    "cuda": ["core", "process"],
    "fake": ["core"],
    "hwloc": ["core"],  # where the system has hwloc
}


class RationRecipe(ConanFile):
    name = "ration"
    description = "Policies that share a machine among deep-learning jobs"
    license = "BSL-1.0"
    topics = ("scheduling", "cgroups", "machine-learning", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "backends/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "ration", "version.hpp"))
        self.version = ".".join(re.findall(r"#define RATION_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TOOLS", "TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"RATION_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        for component, requires in COMPONENTS.items():
            if component == "hwloc" and not os.path.isdir(os.path.join(self.package_folder, "include", "ration", "hwloc")):
                continue
            info = self.cpp_info.components[component]
            info.set_property("cmake_target_name", f"ration::{component}")
            info.requires = requires
            info.bindirs = []
            info.libdirs = []
            info.system_libs = ["hwloc"] if component == "hwloc" else []
