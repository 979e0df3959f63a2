# SPDX-License-Identifier: BSL-1.0
"""Reads OpenMetrics 1.0, and nothing that deviates from it: the counters, gauges and histograms that ration writes."""
import math
import re
from typing import NamedTuple

_SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
_UNITS = ("seconds", "bytes", "cores")


class Family(NamedTuple):
    kind: str
    help: str
    samples: dict  # (suffix, ((label, value), ...)): number


def _labels(text: str) -> tuple:
    found = []
    while text:
        match = _LABEL.match(text)
        assert match, text
        found.append((match[1], re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[2])))
        text = text[match.end():]
    assert len(dict(found)) == len(found), f"a label twice: {found}"
    return tuple(found)


def _number(text: str) -> float:
    assert re.fullmatch(r"-?\d+(\.\d+)?|[+-]Inf|NaN", text), text
    return float(text)


def _check_histogram(name: str, samples: dict) -> None:
    bounds = [(dict(labels)["le"], value) for (suffix, labels), value in samples.items() if suffix == "_bucket"]
    assert all(re.fullmatch(r"\d+\.\d+|\+Inf", bound) for bound, _ in bounds), name
    numbers = [float(bound) for bound, _ in bounds]
    counts = [value for _, value in bounds]
    assert numbers == sorted(set(numbers)) and numbers[-1] == math.inf, name
    assert counts == sorted(counts) and counts[-1] == samples["_count", ()], name


def parse(page: bytes) -> dict[str, Family]:
    lines = page.decode("utf-8", "strict").split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    families: dict[str, Family] = {}
    name = ""
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, f"{name} comes twice"
            families[name] = Family(kind, "", {})
        elif line.startswith("# UNIT "):
            _, _, named, unit = line.split(" ")
            assert named == name and name.endswith("_" + unit) and unit in _UNITS and not families[name].samples, line
        elif line.startswith("# HELP "):
            _, _, named, text = line.split(" ", 3)
            assert named == name and text and not families[name].help and not families[name].samples, line
            families[name] = families[name]._replace(help=text)
        else:
            match = _SAMPLE.fullmatch(line)
            assert match and match[1].startswith(name), line
            suffix = match[1].removeprefix(name)
            assert suffix in _SUFFIXES[families[name].kind], line
            key = (suffix, _labels(match[2] or ""))
            assert key not in families[name].samples, f"{line} comes twice"
            families[name].samples[key] = _number(match[3])
    for name, family in families.items():
        assert family.help, name
        assert family.kind != "counter" or all(value >= 0 and math.isfinite(value) for value in family.samples.values()), name
        if family.kind == "histogram":
            _check_histogram(name, family.samples)
    return families
