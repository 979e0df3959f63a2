# SPDX-License-Identifier: BSL-1.0
"""The lock of the plugin ABI: every field with offset, size and type, every constant and every text with its value, as the compiler sees them.

`abi_lock.py` compares abi.lock and the asserts at the end of abi.h with what abi.h declares. `--write` brings both up to date, and
refuses when a line of the lock would go or change: the ABI only grows. Both refuse padding, and types whose size is not in their name."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/ration/plugin/abi.h"
LOCK = pathlib.Path(__file__).resolve().parent / "abi.lock"
FROZEN = ("ration_grant", "ration_event")  # structs that never grow: their size is locked as well
FIXED = ("char", "int32_t", "int64_t", "uint16_t", "uint32_t", "uint64_t")  # what a field may be, beside a pointer
BEGIN, END = "/* tests/plugin/abi_lock.py writes the rest. */\n", "/* End of what is written. */\n"
PLACE = "#undef RATION_FROZEN\n"  # in front of this line


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def members(body: str):
    """(name, type) of each member, in order; a function pointer's type is its whole signature."""
    for declaration in filter(None, (" ".join(d.split()) for d in body.split(";"))):
        function = re.match(r"(.*?)\(\*(\w+)\)(\(.*\))$", declaration)
        if function:
            yield function[2], f"{function[1].strip()} (*){function[3]}"
            continue
        base = re.match(r"(?:const )?\w+(?: const)?", declaration)[0]
        for declarator in declaration[len(base):].split(","):
            pointers, name, array = re.match(r"\s*([*\s]*(?:const\s*\*)?(?:\*const \*)?)\s*(\w+)(\[\d+\])?$", declarator).groups()
            yield name, " ".join(f"{base} {pointers.strip()}{array or ''}".split())


def structs(text: str):
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
        yield name, list(members(body))


def constants(text: str) -> list[str]:
    names = [n for n in re.findall(r"^#define (RATION_\w+) (?=[\d(0I])", text, flags=re.M) if n != "RATION_ABI_MINOR"]  # grows
    for body in re.findall(r"^enum \{(.*?)\};", text, flags=re.S | re.M):
        names += re.findall(r"(RATION_\w+)\s*(?:=|,|$)", body)
    return names


def texts(text: str) -> list[str]:
    return re.findall(r'^#define (RATION_\w+) "', text, flags=re.M)


def declared() -> str:
    """abi.h without what this script wrote."""
    text = HEADER.read_text()
    return text[:text.index(BEGIN)] + text[text.index(END) + len(END):] if BEGIN in text else text


def lock_lines() -> list[str]:
    """The lines of the lock, and after them `end STRUCT SIZE` of each struct."""
    text = without_comments(declared())
    print_lines = []
    for name, fields in structs(text):
        if name in FROZEN:
            print_lines.append(f'printf("size {name} %zu\\n", sizeof({name}));')
        for field, kind in fields:
            print_lines.append(f'printf("field {name}.{field} %zu %zu {kind}\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    for name in constants(text):
        print_lines.append(f'printf("constant {name} %lld\\n", (long long){name});')
    for name in texts(text):
        print_lines.append(f'printf("text {name} %zu %s\\n", sizeof {name}, {name});')
    print_lines.append('printf("word RATION_LAYOUT %lld\\n", (long long)RATION_LAYOUT);')
    for name, _ in structs(text):
        print_lines.append(f'printf("end {name} %zu\\n", sizeof({name}));')
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "print.c"), pathlib.Path(folder, "print")
        header = pathlib.Path(folder, "abi.h")
        header.write_text(declared())
        source.write_text('#include <stdio.h>\n#include "abi.h"\nint main(void) {\n' + "\n".join(print_lines) + "\nreturn 0; }\n")
        subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", str(source), "-o", str(program)], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def asserts(lines: list[str]) -> str:
    """The same as compile-time asserts, for 64-bit machines; two on a line."""
    out = []
    for line in lines:
        kind, name, *values = line.split(" ", 4)
        if kind == "size":
            out.append(f"RATION_FROZEN(sizeof({name}) == {values[0]});")
        elif kind == "field":
            out.append(f"RATION_FROZEN_FIELD({name.replace('.', ', ')}, {values[0]}, {values[1]});")
        elif kind == "text":
            out.append(f"RATION_FROZEN(sizeof({name}) == {values[0]});")
        elif kind == "word":
            out.append(f"RATION_FROZEN(sizeof(void *) != 8 || {name} == {values[0]});")
        else:
            out.append(f"RATION_FROZEN({name} == {values[0]});")
    pairs = (" ".join(out[at:at + 2]) for at in range(0, len(out), 2))
    return BEGIN + "\n".join(pairs) + "\n" + END


def lost(lines: list[str], locked: list[str]) -> list[str]:
    """Locked lines that are not there any more, or not in their old order within their struct or among the constants."""
    gone = [line for line in locked if line not in lines]
    for name, _ in structs(without_comments(declared())):
        new = [line for line in lines if line.startswith(f"field {name}.")]
        old = [line for line in locked if line.startswith(f"field {name}.")]
        gone += [line for line in old if line in new and new[:len(old)] != old]
    return gone


def loose(lines: list[str]) -> list[str]:
    """Fields behind a hole or of a type that is not FIXED, and structs that end in a hole: rule V4."""
    found, ends = [], {}
    for line in lines:
        kind, name, *values = line.split(" ", 4)
        struct = name.split(".")[0]
        if kind == "field":
            pointer, base = "*" in values[2], re.sub(r"\[\d+\]", "", values[2]).split()[-1]
            if int(values[0]) != ends.get(struct, 0) or not (pointer or base in FIXED):
                found.append(line)
            ends[struct] = int(values[0]) + int(values[1])
        elif kind == "end" and int(values[0]) != ends[struct]:
            found.append(f"{name} ends in a hole")
    return found


def write(lines: list[str]) -> None:
    LOCK.write_text("\n".join(lines) + "\n")
    text = HEADER.read_text()
    if BEGIN in text:
        text = text.split(BEGIN)[0] + text.split(END)[1]
    HEADER.write_text(text.replace(PLACE, asserts(lines) + PLACE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    printed = lock_lines()
    if bad := loose(printed):
        sys.exit("the ABI has no padding and fixed-width types only, and these are neither:\n" + "\n".join(bad))
    lines = [line for line in printed if not line.startswith("end ")]
    locked = LOCK.read_text().splitlines() if LOCK.exists() else []
    gone = lost(lines, locked)
    if gone:
        sys.exit("the ABI only grows, and these lines of abi.lock would go:\n" + "\n".join(gone))
    if asked.write:
        write(lines)
    elif lines != locked or asserts(lines) not in HEADER.read_text():
        new = "\n".join(line for line in lines if line not in locked)
        sys.exit(f"abi.h has grown: run python3 tests/plugin/abi_lock.py --write and commit what it changes\n{new}")
    print(f"{len(lines)} fields and constants of the ABI are as locked")


if __name__ == "__main__":
    main()
