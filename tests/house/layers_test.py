# SPDX-License-Identifier: BSL-1.0
import unittest

from layers import check_component_table, check_components, check_layers, check_modules, check_recipe, check_version
from synthetic import SyntheticTree

MODULES = """\
ration_add_module(process DIRECTORY process/include REQUIRES core)
ration_add_module(cgroup DIRECTORY cgroup/include REQUIRES core process)
ration_add_module(fake DIRECTORY fake/include)
"""
HEADERS = {
    "core": "include/ration/job.hpp",
    "testing": "include/ration/testing/laws.hpp",
    "policies": "include/ration/policies/tradl.hpp",
    "estimators": "include/ration/estimators/remaining.hpp",
    "plugin": "include/ration/plugin/host/host.hpp",
    "process": "backends/process/include/ration/process/launch.hpp",
    "cgroup": "backends/cgroup/include/ration/cgroup/detail/set.hpp",
    "fake": "backends/fake/include/ration/fake/backend.hpp",
}


def spelling(path):
    return path[path.index("ration/", path.index("include/")):] if "include/" in path else path


class Layers(SyntheticTree):
    def setUp(self):
        super().setUp()
        for path in HEADERS.values():
            self.write(path, "#pragma once\n")
        self.write("tools/ration/config.hpp", "#pragma once\n")
        self.write("backends/CMakeLists.txt", MODULES)

    def including(self, path, line):
        self.write(path, "// first\n" + line + "\n")
        return self.found(check_layers)

    def test_a_tree_without_includes_is_clean(self):
        self.assertEqual(self.found(check_layers), [])

    def test_each_arrow_down_is_allowed_and_each_arrow_up_is_not(self):
        heights = [["core"], ["testing", "policies", "estimators"], ["plugin"], ["process"]]
        for below, lower in enumerate(heights):
            for upper in heights[below + 1:]:
                for low in lower:
                    for high in upper:
                        with self.subTest(low=low, high=high):
                            self.assertEqual(self.including(HEADERS[high], f"#include <{spelling(HEADERS[low])}>"), [])
                            self.write(HEADERS[high], "")
                            self.assertEqual(self.including(HEADERS[low], f"#include <{spelling(HEADERS[high])}>"), [(HEADERS[low], 2)])
                            self.write(HEADERS[low], "")

    def test_layers_of_one_height_are_strangers(self):
        self.assertEqual(self.including(HEADERS["policies"], "#include <ration/testing/laws.hpp>"), [(HEADERS["policies"], 2)])

    def test_headers_for_authors_of_policies_leave_those_for_authors_of_hosts_alone(self):
        self.write("include/ration/host/engine.hpp", "#pragma once\n")
        line = "#include <ration/host/engine.hpp>"
        self.assertEqual(self.including("include/ration/grant.hpp", line), [("include/ration/grant.hpp", 2)])
        self.write("include/ration/grant.hpp", "")
        for path in ("include/ration/allocate.hpp", "include/ration/host/check.hpp", "include/ration/testing/laws.hpp", HEADERS["fake"]):
            with self.subTest(path=path):
                self.assertEqual(self.including(path, line), [])

    def test_detail_is_private_to_the_folder_around_it(self):
        self.write("backends/process/include/ration/process/detail/job.hpp", "#pragma once\n")
        self.write("include/ration/detail/sort.hpp", "#pragma once\n")
        for path, header, found in ((HEADERS["process"], "process/detail/job.hpp", 0), (HEADERS["cgroup"], "process/detail/job.hpp", 1),
                                    ("tools/ration/config.hpp", "process/detail/job.hpp", 1), ("tests/a.cpp", "process/detail/job.hpp", 0),
                                    (HEADERS["policies"], "detail/sort.hpp", 0), ("tools/ration/config.hpp", "detail/sort.hpp", 1)):
            with self.subTest(path=path, header=header):
                self.assertEqual(len(self.including(path, f"#include <ration/{header}>")), found)
                self.write(path, "")

    def test_a_quoted_path_cannot_climb(self):
        line = '#  include "../../../tools/ration/config.hpp"'
        self.assertEqual(self.including("include/ration/policies/tradl.hpp", line), [("include/ration/policies/tradl.hpp", 2)])
        self.assertEqual(self.including("include/ration/policies/tradl.hpp", '#include "../job.hpp"'), [])

    def test_a_quoted_name_has_to_be_beside_the_file(self):
        self.assertEqual(self.including(HEADERS["process"], '#include "config.hpp"'), [(HEADERS["process"], 2)])
        self.write(HEADERS["process"], "")
        self.assertEqual(self.including("tools/ration/main.cpp", '#include "somewhere.hpp"'), [])

    def test_a_header_that_no_module_has(self):
        self.assertEqual(self.including(HEADERS["core"], "#include <ration/no_such.hpp>"), [(HEADERS["core"], 2)])

    def test_lean_headers(self):
        for path in (HEADERS["core"], HEADERS["policies"], HEADERS["estimators"]):
            self.assertEqual(self.including(path, "#include <span>"), [])
            self.assertEqual(self.including(path, "#include <functional>"), [(path, 2)])
            self.assertEqual(self.including(path, "#include <boost/hana.hpp>"), [(path, 2)])
            self.write(path, "")

    def test_a_backend_uses_the_system_and_nothing_heavy(self):
        self.assertEqual(self.including(HEADERS["cgroup"], "#include <sys/stat.h>\n#include <functional>"), [])
        self.assertEqual(self.including(HEADERS["cgroup"], "#include <fmt/core.h>"), [(HEADERS["cgroup"], 2)])
        self.write(HEADERS["cgroup"], "")
        self.assertEqual(self.including("tools/ration/main.cpp", "#include <fmt/core.h>"), [])

    def test_two_layers_have_earned_one_library_each(self):
        for path, own in (("include/ration/adapt/adapt.hpp", "hana/first.hpp"), ("include/ration/plugin/host/library.hpp", "dll/shared_library.hpp")):
            self.assertEqual(self.including(path, f"#include <boost/{own}>"), [])
            self.assertEqual(self.including(path, "#include <boost/asio.hpp>"), [(path, 2)])
            self.write(path, "")

    def test_tools_are_below_nothing_but_tests(self):
        self.assertEqual(self.including("include/ration/sim/loop.hpp", '#include "../../../tools/ration/config.hpp"'), [("include/ration/sim/loop.hpp", 2)])
        self.write("include/ration/sim/loop.hpp", "")
        self.assertEqual(self.including("tests/a.cpp", '#include "../tools/ration/config.hpp"'), [])


class Modules(SyntheticTree):
    def setUp(self):
        super().setUp()
        self.write("backends/CMakeLists.txt", MODULES)
        for name in ("process", "cgroup", "fake"):
            self.write(HEADERS[name], "#pragma once\n")

    def test_what_is_required_may_be_included(self):
        self.write(HEADERS["cgroup"], "#include <ration/process/launch.hpp>\n#include <ration/cgroup/detail/set.hpp>\n")
        self.assertEqual(self.found(check_modules), [])

    def test_what_is_not_required_may_not(self):
        self.write(HEADERS["fake"], "\n#include <ration/process/launch.hpp>\n")
        self.assertEqual(self.found(check_modules), [(HEADERS["fake"], 2)])
        self.assertIn("REQUIRES process", self.words(check_modules))

    def test_a_module_may_only_require_one_above_it(self):
        self.write("backends/CMakeLists.txt", "\nration_add_module(process DIRECTORY p REQUIRES core cgroup)\n"
                   "ration_add_module(cgroup DIRECTORY c REQUIRES core)\n")
        self.assertEqual(self.found(check_modules), [("backends/CMakeLists.txt", 2)])

    def test_the_recipe_names_the_same_modules(self):
        right = '{"core": [], "process": ["core"], "cgroup": ["core", "process"], "fake": []}'
        self.write("conanfile.py", f"COMPONENTS = {right}\n")
        self.assertEqual(self.found(check_recipe), [])
        for wrong in (right.replace(', "fake": []', ""), right.replace('["core", "process"]', '["core"]')):
            self.write("conanfile.py", f"\nCOMPONENTS = {wrong}\n")
            self.assertEqual(self.found(check_recipe), [("conanfile.py", 2)])
        self.write("conanfile.py", "a = 1\n")
        self.assertEqual(self.found(check_recipe), [("conanfile.py", 1)])

    def test_the_recipe_names_the_modules_of_both_listings(self):
        self.write("CMakeLists.txt", 'ration_add_module(core DIRECTORY include FOLDERS ration ration/host)\n'
                   'ration_add_module(host DIRECTORY include FOLDERS ration/plugin/host REQUIRES core LIBRARY Boost 1.74 Boost::headers)\n')
        right = '{"core": [], "host": ["core"], "process": ["core"], "cgroup": ["core", "process"], "fake": []}'
        self.write("conanfile.py", f"COMPONENTS = {right}\n")
        self.assertEqual(self.found(check_recipe), [])
        self.write("conanfile.py", "COMPONENTS = " + right.replace('"host": ["core"], ', "") + "\n")
        self.assertEqual(self.found(check_recipe), [("conanfile.py", 1)])

    def test_the_port_has_the_version_of_the_header(self):
        self.write("include/ration/version.hpp", "".join(f"#define RATION_VERSION_{part} {number}\n" for part, number in
                                                         (("MAJOR", 1), ("MINOR", 2), ("PATCH", 3))))
        for version, found in (("1.2.3", []), ("1.2.4", [("cmake/vcpkg/ration/vcpkg.json", 1)])):
            self.write("cmake/vcpkg/ration/vcpkg.json", f'{{"version": "{version}"}}\n')
            self.assertEqual(self.found(check_version), found)


class Components(SyntheticTree):
    LISTING = "tools/ration/CMakeLists.txt"

    def setUp(self):
        super().setUp()
        self.write(self.LISTING, "ration_add_component(events)\nration_add_component(view REQUIRES events)\nration_add_component(sim)\n")
        self.write("tools/ration/events/events.hpp", "#pragma once\n")
        self.write("tools/ration/view/view.hpp", '#include "events/events.hpp"\n')
        self.write("tools/ration/sim/table.hpp", "#pragma once\n")

    def test_a_component_includes_itself_and_what_it_requires(self):
        self.write("tools/ration/view/view.cpp", '#include "view.hpp"\n#include "view/view.hpp"\n#include "events/events.hpp"\n#include <vector>\n')
        self.assertEqual(self.found(check_components), [])

    def test_every_file_is_in_a_component(self):
        self.write("tools/ration/main.cpp", '#include "view/view.hpp"\n')
        self.assertEqual(self.found(check_components), [("tools/ration/main.cpp", 1)])

    def test_sources_of_other_programs_are_no_requirement(self):
        self.write(self.LISTING, "ration_add_component(events EXCEPT main.cpp)\nration_add_component(view REQUIRES events\n  EXCEPT main.cpp ${HERE}/a.cpp)\n"
                                 "ration_add_component(sim EXCEPT ${HERE}/b.cpp)\n")
        self.assertEqual(self.found(check_components), [])
        self.write("tools/ration/view/view.cpp", '#include "sim/table.hpp"\n')
        self.assertEqual(self.found(check_components), [("tools/ration/view/view.cpp", 1)])

    def test_what_is_not_required_may_not_be_included(self):
        for line in ('#include "sim/table.hpp"', '#include "../sim/table.hpp"'):
            with self.subTest(line=line):
                self.write("tools/ration/view/view.cpp", "\n" + line + "\n")
                self.assertEqual(self.found(check_components), [("tools/ration/view/view.cpp", 2)])
                self.assertIn("REQUIRES sim", self.words(check_components))

    def test_a_cycle_has_no_order(self):
        self.write("tools/ration/events/log.cpp", '#include "view/view.hpp"\n')
        self.assertEqual(self.found(check_components), [("tools/ration/events/log.cpp", 1)])
        self.write(self.LISTING, "ration_add_component(events REQUIRES view)\nration_add_component(view\n  REQUIRES events)\nration_add_component(sim)\n")
        self.assertEqual(self.found(check_components), [(self.LISTING, 1)])
        self.assertIn("not declared above", self.words(check_components))

    def test_the_page_lists_the_components_as_cmake_does(self):
        right = "| component | uses | task |\n|---|---|---|\n| `events` | | a |\n| `view` | `events` | b |\n| `sim` | | c |\n"
        for table, found in ((right, 0), (right.replace("| `sim` | | c |\n", ""), 1), (right.replace("| `view` | `events`", "| `view` | `sim`"), 1)):
            with self.subTest(table=table):
                self.write("docs/architecture.md", f"# A\n\n{table}\nText.\n")
                self.assertEqual(len(self.found(check_component_table)), found)

    def test_a_component_does_not_require_itself(self):
        self.write(self.LISTING, "ration_add_component(events)\nration_add_component(view REQUIRES events)\nration_add_component(sim REQUIRES sim)\n")
        self.assertIn((self.LISTING, 3), self.found(check_components))

    def test_a_folder_is_declared(self):
        self.write("tools/ration/report/page.cpp", "\n")
        self.assertEqual(self.found(check_components), [("tools/ration/report/page.cpp", 1)])

    def test_templates_and_folders_without_code_are_no_components(self):
        self.write("tools/ration/new/c++/policy.hpp", "#pragma once\n")
        self.write("tools/ration/service/ration.service", "\n")
        self.assertEqual(self.found(check_components), [])

    def test_a_requirement_is_used(self):
        self.write("tools/ration/view/view.hpp", "#pragma once\n")
        self.assertEqual(self.found(check_components), [(self.LISTING, 2)])
        self.assertIn("remove events", self.words(check_components))


if __name__ == "__main__":
    unittest.main()
