# SPDX-License-Identifier: BSL-1.0
"""Jobs on several nodes, with real processes. RATION_PROGRAM and RATION_BREATHER name the program and a policy."""
import json
import os
import pathlib
import re
import signal
import sys
import unittest

from nodes_case import HERE, LONG, Nodes, ROOT, children_of, job


# Ends when all ranks have started.
RANKS = """import os, time
with open("ranks", "a") as out:
    out.write(" ".join(os.environ[key] for key in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_PORT")) + "\\n")
while open("ranks").read().count("\\n") < 4:
    time.sleep(0.05)
"""


class Span(Nodes):
    """A job on several nodes: span_job.py under a policy that resizes it from two devices to four and back."""

    STEPS = 70

    def start_span(self, steps: int = STEPS, more: str = "") -> None:
        text = job("a", steps, most=4, more=f'nodes = 2\ncheckpoint = "saved"\n{more}')
        words = json.dumps([sys.executable, str(HERE / "span_job.py"), str(steps), "{nodes}", "{node_rank}", "{devices}", "{master}"])
        self.start(re.sub(r"command = .*", lambda _: f"command = {words}", text), "--policy", os.environ["RATION_BREATHER"])

    def worlds(self) -> dict[int, list[list[str]]]:
        """By incarnation: first rank, ranks in all, nodes, node rank, devices and master of each of its processes, in the order of ranks."""
        out = {}
        file = self.folder / "work" / "worlds"
        for line in file.read_text().splitlines() if file.exists() else []:
            incarnation, *rest = line.split()
            out.setdefault(int(incarnation), []).append(rest)
        return {incarnation: sorted(parts, key=lambda part: int(part[0])) for incarnation, parts in out.items()}

    def assert_loss_is_continuous(self) -> None:
        parameter, expected = 1.0, {}
        for step in range(1, 1000):
            parameter -= sum(range(240)) * parameter * 2 ** -20
            expected[step] = parameter
        for event in self.events("progress"):
            self.assertAlmostEqual(event["value"], expected[event["step"]], 6, event)

    def until_spanning(self) -> int:
        self.until(lambda: any(len(parts) == 2 for parts in self.worlds().values()), "the job is on two nodes")
        incarnation = next(number for number, parts in self.worlds().items() if len(parts) == 2)
        self.until(lambda: any(event["incarnation"] == incarnation for event in self.events("progress")), "it trains on them")
        return incarnation

    def test_a_job_grows_from_one_node_to_two_and_shrinks_back_without_losing_a_step(self) -> None:
        self.start_span()
        self.finish()
        worlds = self.worlds()
        self.assertEqual([[part[:5] for part in worlds[number]] for number in sorted(worlds)], [
            [["0", "2", "1", "0", "2"]], [["0", "4", "2", "0", "2"], ["2", "4", "2", "1", "2"]], [["0", "2", "1", "0", "2"]]])
        first, second = (part[5] for part in worlds[2])
        self.assertEqual(first, second)
        self.assertRegex(first, r"^127\.0\.0\.1:2[0-9]{4}$")
        steps = [event["step"] for event in self.events("progress")]
        self.assertEqual(steps, list(range(1, self.STEPS + 1)), "each step once")
        self.assert_loss_is_continuous()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertEqual(self.events("warning"), [])
        self.assert_devices_used_once()
        self.assert_nothing_left()

    def restart_after(self, victim) -> None:
        self.start_span()
        spanning = self.until_spanning()
        victim(spanning)
        self.until(lambda: max(self.worlds()) > spanning, "another incarnation starts")
        self.finish()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        resumed = next(line for line in self.launches() if int(line[1]) == spanning + 1)
        self.assertGreaterEqual(int(resumed[3]), 25, "it continues from its checkpoint")
        self.assert_loss_is_continuous()
        self.assert_nothing_left()

    def part(self, incarnation: int, rank: int) -> int:
        """The process of this node rank."""
        launched = [line for line in self.launches() if int(line[1]) == incarnation]
        ordered = sorted(launched, key=lambda line: pathlib.Path(f"/proc/{line[4]}/environ").read_bytes().find(f"NODE_RANK={rank}\0".encode()) < 0)
        return int(ordered[0][4])

    def test_the_agent_of_one_of_its_nodes_is_killed(self) -> None:
        def kill_agent(incarnation: int) -> None:
            member = self.part(incarnation, 1)
            os.kill(next(pid for pid in children_of(self.run.pid) if member in children_of(pid)), signal.SIGKILL)
        self.restart_after(kill_agent)

    def test_a_part_without_rank_0_fails(self) -> None:
        self.restart_after(lambda incarnation: os.kill(self.part(incarnation, 1), signal.SIGKILL))
        self.assertTrue(any("its part on node local-" in event["why"] for event in self.events("condition")), self.events("condition"))

    def test_a_job_that_cannot_start_on_two_nodes_returns_to_its_node(self) -> None:
        (self.folder / "work" / "refuse").touch()
        self.start_span()
        self.finish()
        worlds = self.worlds()
        self.assertEqual([len(worlds[number]) for number in sorted(worlds)], [1, 2, 1])
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertEqual([event["step"] for event in self.events("progress")], list(range(1, self.STEPS + 1)), "each step once")
        self.assertTrue(any("it cannot span nodes" in event["why"] for event in self.events("condition")), self.events("condition"))
        self.assert_nothing_left()

    def test_ctrl_c_saves_and_stops_all_parts(self) -> None:
        self.start_span(LONG)
        self.until_spanning()
        self.run.send_signal(signal.SIGINT)
        self.finish(4)
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["stopped"])
        saved = int((self.folder / "work" / "saved" / "step").read_text().split()[0])
        self.assertGreaterEqual(saved, max(event["step"] for event in self.events("progress")))
        self.assert_nothing_left()

    def test_the_launcher_starts_the_ranks_of_all_nodes(self) -> None:
        (self.folder / "work" / "ranks.py").write_text(RANKS)
        words = json.dumps([sys.executable, "-m", "ration.ranks", "ranks.py"])
        text = job("a", 1, least=4, most=4, more=f'nodes = 2\nenvironment = {{ PYTHONPATH = "{ROOT / "python"}" }}')
        self.start(re.sub(r"command = .*", lambda _: f"command = {words}", text))
        self.finish()
        ranks = sorted((self.folder / "work" / "ranks").read_text().split("\n")[:-1])
        self.assertEqual([line.split()[:4] for line in ranks], [["0", "0", "4", "0"], ["1", "1", "4", "0"], ["2", "0", "4", "1"], ["3", "1", "4", "1"]])
        self.assertEqual(len({line.split()[4] for line in ranks}), 1, ranks)
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertTrue(list((self.folder / "work").glob("ration-output/*/a.node-1.log")))

    def test_a_job_that_needs_more_than_its_nodes_have_is_refused(self) -> None:
        self.start(job("a", 1, least=5, most=8, more="nodes = 2"))
        _, err = self.finish(3)
        self.assertIn("job 'a' needs 5 devices on at most 2 nodes, and the largest ones have 4; lower its 'min', or raise its 'nodes'", err)
        self.start(job("a", 1, more="nodes = 0"))
        _, err = self.finish(2)
        self.assertIn("nodes is 0; write a number from 1 to 256", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
