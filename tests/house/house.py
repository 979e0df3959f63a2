# SPDX-License-Identifier: BSL-1.0
"""Holds a source tree against the rules of the house: python3 tests/house/house.py [ROOT]. Exit code 1 when one is broken."""

import pathlib
import sys

import class_rules
import documents
import layers
import program_prose
import prose
import sources
import statements
from tree import Tree

RULES = (
    layers.check_layers,
    layers.check_modules,
    layers.check_components,
    layers.check_component_table,
    layers.check_recipe,
    layers.check_version,
    sources.check_licence,
    sources.check_executable,
    sources.check_file_length,
    sources.check_function_length,
    sources.check_machine_paths,
    sources.check_inputs,
    sources.check_nothing_thrown,
    class_rules.check_class_size,
    class_rules.check_class_files,
    statements.check_comma_statements,
    documents.check_regions,
    documents.check_commands,
    documents.check_links,
    prose.check_prose,
    program_prose.check_comments,
    program_prose.check_messages,
)


def problems(root):
    tree = Tree(root)
    return [problem for rule in RULES for problem in rule(tree)]


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    found = problems(root)
    for problem in found:
        print(problem)
    if found:
        print(f"{len(found)} places break a rule of the house (CONTRIBUTING.md says why each rule is there)")
        return 1
    print(f"{len(Tree(root).files)} files keep the rules of the house")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
