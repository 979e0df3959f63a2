# SPDX-License-Identifier: BSL-1.0
"""Writes what bridge.c needs to know of policy.py, and its text: manifest.py policy.py manifest.h"""
import json
import pathlib
import sys

source = pathlib.Path(sys.argv[1]).read_text()
module = {"__name__": "policy"}
exec(compile(source, sys.argv[1], "exec"), module)
policy = module["Policy"]

TABLES = {"jobs": "RATION_JOBS", "nodes": "RATION_NODES", "resources": "RATION_RESOURCES", "held": "RATION_HELD"}
columns = "".join(f'    {{{json.dumps(name)}, {TABLES[name.split("/")[0]]}, RATION_{kind.upper()}}},\n' for name, kind in policy.inputs.items())
texts = {
    "ID": policy.id,
    "NAME": policy.id.rsplit(".", 1)[-1].replace("-", "_"),
    "VERSION": policy.version,
    "SUMMARY": policy.summary,
    "NEEDS": "".join(f"{name} {kind}\n" for name, kind in policy.inputs.items()),
    "REASONS": "".join(reason + "\n" for reason in policy.reasons),
}
# Byte by byte: a C compiler need not take a string as long as a program.
bytes_of_source = ",".join(map(str, source.encode() + b"\0"))
pathlib.Path(sys.argv[2]).write_text(
    "".join(f"#define POLICY_{key} {json.dumps(text)}\n" for key, text in texts.items())
    + f"static const struct wanted {{\n    const char *name;\n    uint32_t table, type;\n}} wanted[] = {{\n{columns}}};\n"
    + f"enum {{ COLUMNS = {len(policy.inputs)} }};\nstatic const char policy_source[] = {{{bytes_of_source}}};\n")
