# SPDX-License-Identifier: BSL-1.0
"""docs/choosing.md and controls.md agree with the program: their commands are run, and every figure of their tables is one of the program's."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from page import PAGE, ROOT, Part, blocks, parts, table_below

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PLUGINS = pathlib.Path(os.environ["RATION_PLUGINS"])
UNITS = {"s": 1, "min": 60, "h": 3600, "%": 0.01, "": 1}
FIGURES = {"mean JCT": "mean_jct", "p99 JCT": "p99_jct", "mean wait": "mean_wait", "to Acceptable": "mean_to_acceptable", "to Objective": "mean_to_objective",
           "makespan": "makespan", "utilisation": "utilisation", "restarts per job": "restarts", "worst rho": "worst_rho", "mean rho": "mean_rho",
           "rho > 1": "unfair", "Jain's index": "jain", "deadlines met": "deadlines_met", "not done": "unfinished", "above the bound": "mean_jct_gap"}
# Columns that every policy reads to identify its jobs: their ids, whether they run, what they hold, may hold and request.
TAKEN_FOR_GRANTED = re.compile(r"jobs/(id|state|(held|min|max|request|requested)\.[\w.]+)")
CORES = 'cpus = 1\nphases = { models = "phases.json" }\n[[job]]\nname = "a"\ncommand = ["true"]\ntarget = { loss = { objective = 1 } }\n'
PHASES = json.dumps({"classes": [{"class": "a", "period": 1, "horizon": 1, "cpu": {"mean": 0, "deviation": 1}, "memory": {"mean": 0, "deviation": 1}, "phases": []}]})
DEVICES = "devices = { count = 1, cpu = 0.5 }\n" + CORES + "bounds = { gpu = 1 }\n"


def shown(value, cell: str, unit: str) -> str:
    """A figure with as many digits behind the point as the cell has; "-" where there is none."""
    if value is None:
        return "-"
    return f"{value / UNITS[unit]:.{len(cell.partition('.')[2])}f}"


class Folder(unittest.TestCase):
    """Runs commands like a user in a checkout, whose files stay unchanged."""

    def setUp(self) -> None:
        kept = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        (self.folder / "bench").symlink_to(ROOT / "bench")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/ration").symlink_to(RATION)
        self.environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8", CUDA_VISIBLE_DEVICES="")

    def say(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120, check=False)

    said: dict = {}  # by the part's name: each simulation runs once

    def simulation(self, part: Part) -> dict:
        if part.name not in self.said:
            self.said[part.name] = self.simulate(part)
        return self.said[part.name]

    def simulate(self, part: Part, more: str = "") -> dict:
        done = self.say("bash", "-ec", "\n".join([*part.commands[:-1], f"{part.commands[-1]} {more} --json --quiet"]))
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: a policy is shown to fail
        return {one["policy"]: one for one in json.loads(done.stdout.splitlines()[0])["policies"]}


class Figures(Folder):
    def test_every_block_is_run(self) -> None:
        self.assertEqual(blocks(), len(parts()))
        self.assertGreater(len(parts()), 5)

    def test_every_figure(self) -> None:
        for part in parts():
            said = self.simulation(part)
            self.assertEqual([row[0].strip("`") for row in part.rows], list(said), f"{part.name}: the policies of the table are those of the command, in their order")
            for row in part.rows:
                for head, cell in zip(part.head[1:], row[1:]):
                    name, unit = re.fullmatch(r"(.*?)(?:, (s|min|h|%))?", head).groups()
                    with self.subTest(part=part.name, policy=row[0], figure=head):
                        value = said[row[0].strip("`")]["figures"][FIGURES[name]]["mean"]
                        self.assertEqual(cell, shown(value, cell, unit or ""))

    def test_controls(self) -> None:
        """Where the page states that nothing changes, every digit of every figure is the same."""
        for name, policies in (("cores-to-spare", ("none", "equal_share", "tradl")), ("devices-to-spare", ("fifo", "sjf", "srtf", "las", "gittins")),
                               ("elastic-in-vain", ("srtf", "afs"))):
            part = next(one for one in parts() if one.name == name)
            said = self.simulation(part)
            for policy in policies[1:]:
                with self.subTest(part=name, policy=policy):
                    self.assertEqual(said[policy]["figures"], said[policies[0]]["figures"])

    def test_edf_without_admission(self) -> None:
        """The figure in the text below the table of deadlines."""
        option, figure = re.search(r"with `(--set edf\.rule=least)` it admits all, and meets ([\d.]+) %", PAGE).groups()
        part = next(one for one in parts() if one.name == "deadlines")
        met = self.simulate(part, option)["edf"]["figures"][FIGURES["deadlines met"]]["mean"]
        self.assertEqual(figure, shown(met, figure, "%"))

    def test_the_test_itself(self) -> None:
        self.assertEqual([shown(90.0, cell, unit) for cell, unit in (("1", "min"), ("1.50", "min"), ("9000", "%"), ("0.1", "s"))], ["2", "1.50", "9000", "90.0"])
        self.assertEqual(shown(None, "1", ""), "-")


class Policies(Folder):
    def table(self) -> list[dict]:
        head, *rows = table_below("What each policy reads, and where it runs")
        return [dict(zip(head, row)) for row in rows]

    def names(self) -> list[str]:
        return [one["name"] for one in json.loads(self.say(RATION, "policies", "--json").stdout)]

    def test_all_are_there(self) -> None:
        self.assertEqual(sorted(row["policy"].strip("`") for row in self.table()), sorted(self.names()))

    def test_what_they_read(self) -> None:
        """As their plugins' manifests say it, which the compiler writes."""
        for row in self.table():
            name = row["policy"].strip("`")
            if not (PLUGINS / f"{name}.so").exists():
                self.assertIn(name, ("none", "equal_share"))
                continue
            needs = re.findall(rb"(jobs/[a-z._]+) (?:u32|u64|i64|f32|f64)(?:\[\])?\n", (PLUGINS / f"{name}.so").read_bytes())
            read = sorted({one.decode() for one in needs if not TAKEN_FOR_GRANTED.fullmatch(one.decode())})
            with self.subTest(policy=name):
                self.assertTrue(needs)
                self.assertEqual(sorted(re.findall(r"`([^`]+)`", row["of a job"])), [one.removeprefix("jobs/") for one in read])

    def test_where_they_run(self) -> None:
        for kind, text in (("cores", CORES), ("devices", DEVICES)):
            (self.folder / f"{kind}.toml").write_text(text)
        (self.folder / "phases.json").write_text(PHASES)
        with_phases = re.findall(r"`ration sim` runs all of them, `(\w+)` for jobs with \[phases\]", PAGE)
        self.assertEqual(len(with_phases), 1)
        (self.folder / "one.csv").write_text("job_id,submit_time,num_gpus,duration\na,0,1,10\n")
        for row in self.table():
            name = row["policy"].strip("`")
            runs = [kind for kind in ("cores", "devices") if self.say(RATION, "run", f"{kind}.toml", "--dry-run", "--policy", name).returncode == 0]
            cluster = self.say(RATION, "sim", "--trace", "one.csv", "--cluster", "1x1+1core", "--quiet", "--policy", name)
            with self.subTest(policy=name):
                self.assertEqual(row["`ration run`"], ", ".join(runs) or "-")
                self.assertEqual(cluster.returncode == 2, name in with_phases, cluster.stderr)


class Pictures(unittest.TestCase):
    def test_they_are_those_that_the_script_makes(self) -> None:
        shows = re.findall(r"\]\(pictures/choosing-([\w-]+)\.png\)", PAGE)
        made = re.findall(r'^    "([\w-]+)": \[', (ROOT / "tests/choosing/pictures.py").read_text(), re.M)
        self.assertGreater(len(shows), 2)
        self.assertEqual(shows, made)
        self.assertLessEqual(set(shows), {part.name for part in parts()})
        for name in shows:
            self.assertTrue((ROOT / f"docs/pictures/choosing-{name}.png").read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
