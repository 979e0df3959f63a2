# SPDX-License-Identifier: BSL-1.0
"""The headers of ration as a package. Consumers find the CMake package that ration installs, with the components that it has."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"

# Component: what it requires.
COMPONENTS = {
    "core": [],
    "adapt": ["core"],
    "plugin": ["core"],
    "plugin_host": ["core", "plugin"],
    "sim": ["core", "process"],
    "process": ["core"],
    "cgroup": ["core", "process"],
    "progress": ["core"],
    "cuda": ["core", "process"],
    "fake": ["core"],
    "hwloc": ["core", "process"],
}
# Option: the name of the library in CMake and in Conan, the components that need it.
LIBRARIES = {
    "with_boost": ("Boost", "boost::headers", ("adapt", "plugin_host")),
    "with_hwloc": ("hwloc", "hwloc::hwloc", ("hwloc",)),
}


class RationRecipe(ConanFile):
    name = "ration"
    description = "Policies that share a machine among deep-learning jobs"
    license = "BSL-1.0"
    topics = ("scheduling", "cgroups", "machine-learning", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_boost": [True, False], "with_hwloc": [True, False]}
    default_options = {"with_boost": False, "with_hwloc": False}
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "backends/*", "python/*", "LICENSE"
    no_copy_source = True
    test_package_folder = "tests/packages/conan"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "ration", "version.hpp"))
        self.version = ".".join(re.findall(r"#define RATION_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.with_boost:
            self.requires("boost/[>=1.74 <2]", options={"header_only": True})
        if self.options.with_hwloc:
            self.requires("hwloc/[>=2.5 <3]")

    def package_id(self):
        self.info.settings.clear()  # headers: the same for every machine; which of them, the options say
        self.info.requires.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TOOLS", "TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"RATION_BUILD_{part}"] = False
        for option, (library, _, _) in LIBRARIES.items():  # the option decides, and not what this machine happens to have
            wanted = bool(self.options.get_safe(option))
            toolchain.cache_variables[f"CMAKE_{'REQUIRE' if wanted else 'DISABLE'}_FIND_PACKAGE_{library}"] = True
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install(component="ration-development")
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the installed ration-config.cmake is found through builddirs
        self.cpp_info.set_property("pkg_config_name", "ration")
        missing = {part for option, (_, _, parts) in LIBRARIES.items() if not self.options.get_safe(option) for part in parts}
        for component, requires in COMPONENTS.items():
            if component in missing:
                continue
            info = self.cpp_info.components[component]
            info.set_property("cmake_target_name", f"ration::{component}")
            info.requires = requires + self._libraries_of(component)
            info.bindirs = []
            info.libdirs = []
            info.builddirs = ["."]

    def _libraries_of(self, component):
        """A library that is a platform requirement is the system's, and Conan has nothing to say about it."""
        known = {str(dependency.ref.name) for dependency in self.dependencies.host.values()}
        return [target for _, target, parts in LIBRARIES.values() if component in parts and target.split("::")[0] in known]
