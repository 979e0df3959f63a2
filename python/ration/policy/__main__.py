# SPDX-License-Identifier: BSL-1.0
"""Plugins of policies in Python.

    python3 -m ration.policy build POLICY.py [--out FILE.so]    compiles it, with this Python inside
    python3 -m ration.policy header POLICY.py FILE.h            only what bridge.c includes, for a build of one's own
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig
import tempfile

from ration import policy as api

HERE = pathlib.Path(__file__).resolve().parent
TABLES = {"jobs": "RATION_JOBS", "nodes": "RATION_NODES", "held": "RATION_HELD", "tenants": "RATION_TENANTS"}
ABI = "ration/plugin/abi.h"


class Trouble(Exception):
    """The error, as a sentence with the next action."""


def policy_of(file: pathlib.Path):
    """The class, and the text of its file."""
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Trouble(f"{file} cannot be read ({problem}); name the file that has the policy's class") from problem
    names = {"__name__": "policy"}
    try:
        exec(compile(source, file.name, "exec"), names)
        return api.policy_in(names), source
    except Exception as problem:
        raise Trouble(api.told(problem, file.name)) from problem


def bytes_of(name: str, text: str) -> str:
    """Byte by byte: a C compiler need not take a string as long as a program."""
    return f"static const char {name}[] = {{{','.join(map(str, text.encode() + bytes(1)))}}};\n"


def header_of(file: pathlib.Path) -> str:
    """The facts about a policy that bridge.c needs, and the texts that it runs."""
    policy, source = policy_of(file)
    texts = {"ID": policy.id, "NAME": policy.id.rsplit(".", 1)[-1].replace("-", "_"), "VERSION": policy.version, "SUMMARY": policy.summary,
             "FILE": file.name, "NEEDS": api.needs_of(policy), "REASONS": api.reasons_of(policy),
             "PARAMETERS": api.schema_of(policy)}
    columns = "".join(f'    {{{json.dumps(name)}, {TABLES[name.split("/")[0]]}, RATION_{kind.removesuffix("[]").upper()}, {int(kind.endswith("[]"))}}},\n'
                      for name, kind in policy.inputs.items())
    # JSON has \u escapes where C would want others, so all that is not ASCII stays as it is.
    return ("".join(f"#define POLICY_{key} {json.dumps(text, ensure_ascii=False)}\n" for key, text in texts.items())
            + f"static const struct wanted {{\n    const char *name;\n    uint32_t table, type, several;\n}} wanted[] = {{\n{columns}}};\n"
            + f"enum {{ COLUMNS = {len(policy.inputs)} }};\n"
            + bytes_of("policy_source", source) + bytes_of("api_source", (HERE / "__init__.py").read_text(encoding="utf-8")))


def include_folder() -> pathlib.Path:
    """Where the header of the plugin ABI is: beside this file in a wheel, else in the checkout or the install that this file is part of."""
    places = [HERE / "include", *(above / "include" for above in HERE.parents)]
    for place in places:
        if (place / ABI).exists():
            return place
    raise Trouble(f"there is no {ABI} near {HERE}: install the wheel of ration, or build with CMake, as `ration new` shows")


def compile_command(header_folder: str, out: pathlib.Path) -> list:
    """With the flags that make a module a well-behaved plugin; it exports one symbol, see bridge.c."""
    said = sysconfig.get_config_var
    if not said("Py_ENABLE_SHARED") or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        raise Trouble(f"{sys.executable} cannot be embedded: its headers or its shared library are missing. Debian and Ubuntu have them in the package "
                      "`python3-dev`; where several Pythons are installed, call the one that has them, such as /usr/bin/python3")
    return [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-plt", "-Wl,-z,now,-z,relro,-z,defs",
            f'-DPYTHON_EXECUTABLE="{sys.executable}"', "-I", header_folder, "-I", str(include_folder()), "-I", sysconfig.get_path("include"),
            str(HERE / "bridge.c"), "-o", str(out), f"-L{said('LIBDIR')}", f"-Wl,-rpath,{said('LIBDIR')}", f"-lpython{said('LDVERSION')}", "-ldl"]


def build(file: pathlib.Path, out: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "policy_manifest.h").write_text(header_of(file), encoding="utf-8")
        command = compile_command(folder, out)
        try:
            done = subprocess.run(command, check=False)
        except OSError as problem:
            raise Trouble(f"the C compiler {command[0]} cannot be started ({problem.strerror}); install one, or name it in the variable CC") from problem
    if done.returncode != 0:
        raise Trouble(f"{command[0]} could not compile the plugin; its output is above")


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m ration.policy", description="Plugins of policies in Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    whole = commands.add_parser("build", help="compile a plugin")
    whole.add_argument("policy", type=pathlib.Path, metavar="POLICY.py")
    whole.add_argument("--out", type=pathlib.Path, metavar="FILE.so", help="beside the policy when left out")
    part = commands.add_parser("header", help="write what bridge.c includes")
    part.add_argument("policy", type=pathlib.Path, metavar="POLICY.py")
    part.add_argument("out", type=pathlib.Path, metavar="FILE.h")
    given = parser.parse_args(words)
    try:
        if given.command == "header":
            given.out.write_text(header_of(given.policy), encoding="utf-8")
        else:
            build(given.policy, given.out or given.policy.with_suffix(".so"))
    except Trouble as trouble:
        print(f"ration.policy: {trouble}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
