# SPDX-License-Identifier: BSL-1.0
"""Every probe of `ration check` passes a correct plugin, and none is left out because it granted nothing:
good_test.py PLUGIN, or --build COMPILER flags... -o to make one first."""
import json
import os
import subprocess
import sys
import tempfile

GRANTS_NOTHING = ("org.example.minimal",)


def check(plugin: str) -> int:
    done = subprocess.run([os.environ["RATION_PROGRAM"], "check", "--json", plugin], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        print(done.stderr)
        return 1
    said = json.loads(done.stdout)
    for probe in said["probes"]:
        if probe["result"] != "passed":
            print(f'{probe["probe"]}: {probe["result"]}: {probe["why"]}')
    red = [p for p in said["probes"] if p["result"] not in ("passed", "skipped")]
    idle = [p for p in said["probes"] if p["result"] == "skipped" and "granted nothing" in p["why"] and said["id"] not in GRANTS_NOTHING]
    print(f'{said["id"]}: {len(said["probes"])} probes, {len(red)} red, {len(idle)} without a grant')
    return 0 if not red and not idle and done.returncode == 0 and said["passed"] else 1


def main() -> int:
    if sys.argv[1] != "--build":
        return check(sys.argv[1])
    if not os.path.exists(sys.argv[2]):
        print(f"skipped: there is no {sys.argv[2]} here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        plugin = os.path.join(folder, "plugin.so")
        built = subprocess.run([*sys.argv[2:], plugin])
        return built.returncode or check(plugin)


if __name__ == "__main__":
    sys.exit(main())
