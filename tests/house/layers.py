# SPDX-License-Identifier: BSL-1.0
"""An include may only point down the layers, and the lower ones may only use what they promise to use."""

import ast
import json
import posixpath
import re
from typing import NamedTuple

from tree import CPP, Problem


class Layer(NamedTuple):
    folder: str
    name: str
    height: int


# The most exact folder comes first. Layers of one height may not include each other.
LAYERS = (
    Layer("include/ration/policies/", "policies", 1),
    Layer("include/ration/estimators/", "estimators", 1),
    Layer("include/ration/testing/", "testing", 1),
    Layer("include/ration/plugin/", "plugin boundary", 2),
    Layer("include/ration/adapt/", "adapters", 2),
    Layer("include/ration/sim/", "simulator", 4),
    Layer("include/ration/", "core", 0),
    Layer("backends/", "backends", 3),
    Layer("plugins/", "plugins", 4),
    Layer("python/", "Python package", 4),
    Layer("tools/", "tools", 5),
    Layer("tests/", "tests", 6),
    Layer("examples/", "examples", 6),
    Layer("bench/", "benchmarks", 6),
)
BACKENDS = 3

# Of the headers for authors of policies only these, which call one, include a header for authors of hosts.
CALLERS = ("allocate.hpp", "allocation_host.hpp", "ration.hpp", "column_adapter.hpp", "column_adapter.hpp")
MAY_OPEN_DETAIL = ("tests/", "bench/")

# Cheap to include, all of them. A header that is missing here is missing on purpose: see docs on compile cost before adding one.
LEAN_HEADERS = frozenset(
    "array bit compare concepts cstddef cstdint cstdio cstdlib cstring cmath limits new optional span string_view tuple "
    "type_traits utility variant vector".split())
LEAN_LAYERS = ("core", "policies", "estimators")

# Heavy libraries live in the tools, and no backend may bring one to its user. Two layers exist for one of them each.
HEAVY_HEADERS = re.compile(r"(boost|range|hana|CLI|toml\+\+|fmt|spdlog|nlohmann|prometheus|catch2|benchmark)/|httplib\.h|sqlite3\.h")
EARNED_HEADERS = {"adapters": "boost/hana/", "plugin boundary": "boost/dll/"}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.M)
_MODULE = re.compile(r'ration_add_module\(\s*(\w+)\s+((?:"[^"]*"|[^)"])*)\)')
_COMPONENT = re.compile(r"^ration_add_component\(\s*(\w+)(?:\s+REQUIRES\s+([^)]*?))?(?:\s+EXCEPT\s[^)]*)?\)", re.M)
_MODULE_KEYWORDS = re.compile(r"\b(DIRECTORY|FOLDERS|REQUIRES|LIBRARY)\b")


def layer_of(path):
    return next((layer for layer in LAYERS if path.startswith(layer.folder)), None)


def modules(text):
    """(line, name, what it requires) of each ration_add_module"""
    for match in _MODULE.finditer(text):
        words = _MODULE_KEYWORDS.split(match[2])
        said = dict(zip(words[1::2], words[2::2]))
        yield text.count("\n", 0, match.start()) + 1, match[1], said.get("REQUIRES", "").split()


def components(text):
    """(line, name, what it requires) of each ration_add_component"""
    for match in _COMPONENT.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], (match[2] or "").split()


def includes(text):
    """(line, name, quoted)"""
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2], match[2] is not None


def _public_headers(tree):
    """What `<ration/...>` means: the name in an include line, and the file."""
    found = {}
    for path in tree.ending_in(".hpp", ".h"):
        base, marker, name = path.rpartition("include/ration/")
        if marker and (base == "" or base.startswith(("backends/", "plugins/"))):
            found["ration/" + name] = path
    return found


def _check_name(path, layer, line, name):
    """A header of the standard library, of the system or of another project."""
    if layer.name in LEAN_LAYERS and name not in LEAN_HEADERS:
        return Problem(path, line, f"the {layer.name} may not include <{name}>: it is not on the list of lean headers")
    earned = EARNED_HEADERS.get(layer.name)
    if layer.height <= BACKENDS and HEAVY_HEADERS.match(name) and not (earned and name.startswith(earned)):
        return Problem(path, line, f"the {layer.name} may not include <{name}>: heavy libraries live in tools/")
    return None


def _check_file(path, layer, line, included):
    other = layer_of(included)
    if other is None or other == layer or other.height < layer.height:
        return None
    return Problem(path, line, f"{layer.name} may not include {other.name} ({included}): an arrow may only point down")


def _folder_in_module(path):
    """`ration/host` of include/ration/host/engine.hpp; empty for a file that is not a public header."""
    _, marker, name = path.rpartition("include/ration/")
    return posixpath.dirname("ration/" + name) if marker else ""


def _check_tier(path, line, name):
    """Headers for authors of policies do not include those for authors of hosts; detail/ is private to the folder around it."""
    folder = _folder_in_module(path)
    if name.startswith("ration/host/") and folder == "ration" and posixpath.basename(path) not in CALLERS:
        return Problem(path, line, f"a header for authors of policies may not include <{name}>, which is for authors of hosts")
    owner, private, _ = name.partition("/detail/")
    if private and name.startswith("ration/") and not f"{folder}/".startswith(f"{owner}/") and not path.startswith(MAY_OPEN_DETAIL):
        return Problem(path, line, f"<{name}> is private to {owner}/")
    return None


def _check_include(tree, headers, path, include):
    line, name, quoted = include
    layer = layer_of(path)
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if quoted and beside in tree:
        return _check_file(path, layer, line, beside)
    if name in headers:
        return _check_file(path, layer, line, headers[name])
    if name.startswith("ration/") and layer.height <= BACKENDS:
        return Problem(path, line, f"no module has the header <{name}>")
    if quoted and layer.height <= BACKENDS:
        return Problem(path, line, f'"{name}" is not beside this file: name public headers as <ration/...>')
    return None if quoted else _check_name(path, layer, line, name)


def check_layers(tree):
    headers = _public_headers(tree)
    for path in tree.ending_in(*CPP):
        if layer_of(path) is None:
            continue
        for include in includes(tree.text(path)):
            problem = _check_include(tree, headers, path, include) or _check_tier(path, include[0], include[1])
            if problem:
                yield problem


def check_modules(tree):
    """A backend includes another one only if its ration_add_module lists that under REQUIRES, and a required module is declared before it."""
    listing = "backends/CMakeLists.txt"
    if listing not in tree:
        return
    declared = {"core": set()}
    for line, module, required in modules(tree.text(listing)):
        for name in sorted(set(required) - declared.keys()):
            yield Problem(listing, line, f"{module} requires {name}, which is not declared above it: an arrow may only point down")
        declared[module] = set(required)
    headers = _public_headers(tree)
    for path in tree.ending_in(*CPP):
        if not path.startswith("backends/") or path.count("/") < 2:
            continue
        own = path.split("/")[1]
        for line, name, _ in includes(tree.text(path)):
            other = headers.get(name, "").split("/")
            if other[0] == "backends" and other[1] not in {own} | declared.get(own, set()):
                yield Problem(path, line, f"{own} includes {other[1]}, but backends/CMakeLists.txt does not say REQUIRES {other[1]}")


PROGRAM = "tools/ration/"


def _components_included(tree, path):
    """(line, component) of each include of a header in a folder of tools/ration, also of the file's own folder"""
    for line, name, quoted in includes(tree.text(path)):
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        file = next((file for file in (beside, PROGRAM + name) if quoted and file in tree), "")
        if file.startswith(PROGRAM) and file.count("/") == PROGRAM.count("/") + 1:
            yield line, file.split("/")[2]


def check_components(tree):
    """A folder of tools/ration is a component. Its ration_add_component lists the others that it includes, and they are declared before it."""
    listing = PROGRAM + "CMakeLists.txt"
    if listing not in tree:
        return
    declared, lines, used = {}, {}, {}
    for line, name, required in components(tree.text(listing)):
        for other in sorted(set(required) - declared.keys()):
            yield Problem(listing, line, f"{name} requires {other}, which is not declared above it: break the cycle, or declare {other} first")
        declared[name], lines[name], used[name] = set(required), line, set()
    for path in tree.ending_in(*CPP):
        if not path.startswith(PROGRAM) or path.count("/") > PROGRAM.count("/") + 1:
            continue
        if path.count("/") == PROGRAM.count("/"):
            yield Problem(path, 1, "this file is in no component: move it into the folder of one")
            continue
        own = path.split("/")[2]
        if own not in declared:
            yield Problem(path, 1, f"{own}/ is no component: declare it by ration_add_component in {listing}")
            continue
        for line, other in _components_included(tree, path):
            used[own].add(other)
            if other not in declared[own] | {own}:
                yield Problem(path, line, f"{own} includes {other}, but {listing} does not say REQUIRES {other}")
    for name in declared:
        for other in sorted(declared[name] - used[name]):
            yield Problem(listing, lines[name], f"{name} requires {other} and includes nothing of it: remove {other}")


def check_component_table(tree):
    """docs/architecture.md lists the components and their dependencies, as the CMake file does."""
    listing, page = PROGRAM + "CMakeLists.txt", "docs/architecture.md"
    if listing not in tree or page not in tree:
        return
    wanted = {name: set(required) for _, name, required in components(tree.text(listing))}
    lines = tree.text(page).splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("| component |")), len(lines))
    shown = {}
    for line in lines[first + 2:]:
        if not line.startswith("|"):
            break
        name, uses = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:3])
        shown[name[0]] = set(uses)
    if shown != wanted:
        different = sorted(name for name in shown.keys() | wanted.keys() if shown.get(name) != wanted.get(name))
        yield Problem(page, first + 1, f"the table of components differs from {listing}: correct {', '.join(different)}")


def check_recipe(tree):
    """conanfile.py names the modules and what each requires, as the CMake files do."""
    listings, recipe = ("CMakeLists.txt", "backends/CMakeLists.txt"), "conanfile.py"
    if listings[1] not in tree or recipe not in tree:
        return
    declared = {name: required for listing in listings if listing in tree for _, name, required in modules(tree.text(listing))}
    for node in ast.parse(tree.text(recipe)).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPONENTS":
            if ast.literal_eval(node.value) != {"core": [], **declared}:
                yield Problem(recipe, node.lineno, "COMPONENTS is not what the ration_add_module of the CMake files declare")
            return
    yield Problem(recipe, 1, "has no COMPONENTS")


def check_version(tree):
    """include/ration/version.hpp is where the version is written. vcpkg reads its own file alone, which has to say the same."""
    header, port = "include/ration/version.hpp", "cmake/vcpkg/ration/vcpkg.json"
    if header not in tree or port not in tree:
        return
    version = ".".join(re.findall(r"#define RATION_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", tree.text(header)))
    if json.loads(tree.text(port))["version"] != version:
        yield Problem(port, 1, f"the version is {version} ({header}): write that here")
