# SPDX-License-Identifier: BSL-1.0
"""Jobs on several nodes, with real processes. RATION_PROGRAM and RATION_BREATHER name the program and a policy."""
import json
import os
import re
import signal
import sys
import unittest

from nodes_case import HEAD, HERE, LONG, RATION, ROOT, children_of, job
from span_case import SpanCase


# Ends when all ranks have started.
RANKS = """import os, time
with open("ranks", "a") as out:
    out.write(" ".join(os.environ[key] for key in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_PORT")) + "\\n")
while open("ranks").read().count("\\n") < 4:
    time.sleep(0.05)
"""


class Span(SpanCase):
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

    def assert_start_is_rolled_back(self, why: str) -> None:
        """It trains on from its checkpoint on the devices that it had."""
        self.finish()
        failed = [event for event in self.events("resize") if event["what"] == "failed"]
        self.assertEqual([(event["from"], event["to"], event["incarnation"]) for event in failed], [(2, 4, 2)], failed)
        self.assertEqual([event["why"] for event in failed], [why])
        self.assertEqual([event["why"] for event in self.events("condition") if event["now"] == "waiting"][-1], why)
        self.assertEqual([len(event["devices"].split(",")) for event in self.events("job_started") if event["incarnation"] == 3], [2])
        self.assertEqual([event["step"] for event in self.events("progress")], list(range(1, self.STEPS + 1)), "each step once")
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assert_nothing_left()

    def test_a_start_whose_launch_a_node_does_not_confirm_is_rolled_back(self) -> None:
        relay = f"{sys.executable} {HERE}/relay.py drop {RATION} node # {{host}}"
        self.head = HEAD.replace("count = 4", "count = 2")
        self.start_span(start="3s", options=("--hosts", "127.0.0.1,localhost"), nodes=relay)
        self.assert_start_is_rolled_back("node localhost has not launched its part within 3.0 s")

    def test_a_start_that_hangs_before_its_hello_is_rolled_back(self) -> None:
        (self.folder / "work" / "hang").touch()
        self.start_span(start="3s")
        self.assert_start_is_rolled_back("rank 0 has sent no hello within 3.0 s")

    def test_a_start_that_hangs_after_its_hello_is_rolled_back(self) -> None:
        (self.folder / "work" / "mute").touch()
        self.start_span(start="3s")
        self.assert_start_is_rolled_back("it has not trained within 3.0 s after the hello of rank 0")

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
