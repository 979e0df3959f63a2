# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes` after its controller was killed: agents keep their jobs, and no launch runs beside an earlier one.

usage: reattach_test.py    RATION_PROGRAM names the program
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from nodes_case import HERE, LONG, Nodes, children_of, is_alive, job


class ReattachTest(Nodes):
    def start(self, jobs: str, *options: str, nodes: str = "local:2") -> subprocess.Popen:
        (self.folder / "work" / "log.jsonl").unlink(missing_ok=True)  # of the killed controller
        return super().start(jobs, *options, nodes=nodes)

    def killed(self, text: str, *options: str) -> list[dict]:
        """The events of a run whose jobs have trained and whose controller was then killed."""
        names = [line.split('"')[1] for line in text.splitlines() if line.startswith("name =")]
        self.start(text, *options)
        self.until(lambda: {event["job"] for event in self.events("progress") if event["step"] >= 3} == set(names), "all jobs train")
        self.kill_controller()
        return self.events()

    def steps(self, events: list[dict], name: str) -> list[tuple[int, float]]:
        return [(event["step"], event["value"]) for event in events if event["event"] == "progress" and event["job"] == name]

    def test_the_jobs_of_living_agents_run_on_in_the_same_processes(self) -> None:
        text = "".join(job(name, 60, most=1) for name in "ab")
        before = self.killed(text)
        pids = {line[0]: int(line[4]) for line in self.launches()}
        time.sleep(0.5)
        self.start(text, "--reattach")
        self.until(lambda: self.events("progress"), "its progress arrives")
        for relay in children_of(self.run.pid):
            os.kill(relay, signal.SIGKILL)
        out, _ = self.finish()
        self.assertIn("node local-1 is up, and has kept its jobs", out)
        after = self.events()
        for name in "ab":
            self.assertEqual([(int(line[1]), int(line[4])) for line in self.launches(name)], [(1, pids[name])], "one launch")
            steps = self.steps(before, name) + self.steps(after, name)
            numbers = [step for step, _ in steps]
            self.assertEqual(numbers, sorted(set(numbers)), "nothing twice")
            self.assertLess(len(set(range(1, 61)) - set(numbers)), 6, "only steps in a pipe are not in the log")
            for step, loss in steps:
                self.assertAlmostEqual(loss, 10 / (1 + 0.1 * step), 4)
        ends = [(event["job"], event["how"], event["incarnation"], event["step"]) for event in after if event["event"] == "job_ended"]
        self.assertEqual(sorted(ends), [(name, "finished", 1, 60) for name in "ab"])
        self.assertIn("its command has ended; it is started again", {event["message"] for event in after if event["event"] == "warning"})
        self.assertEqual([event for event in after if event["event"] == "job_started"], [])
        self.assertEqual(list((self.folder / "work").glob("ration-output/*/nodes.json")), [])
        self.assert_nothing_left()

    def test_a_run_whose_controller_lives_is_not_started_again(self) -> None:
        first = self.start(job("a", 100, most=1))
        self.until(lambda: self.launches("a"), "the job trains")
        second = self.start(job("a", 100, most=1), "--reattach")
        out, err = second.communicate(timeout=LONG)
        self.assertEqual((second.returncode, out), (3, ""))
        self.assertRegex(err, r"^ration: .*/ration-output/\S+: its ration lives, or its lock cannot be taken; end that one first, "
                              r"or wait until the file system has dropped the lock\n$")
        self.run = first
        self.finish()
        self.assertEqual(len(self.launches()), 1)
        self.assert_nothing_left()

    def test_a_job_on_several_nodes_runs_on(self) -> None:
        command = [sys.executable, str(HERE / "span_job.py"), "60", "{nodes}", "{node_rank}", "{devices}", "{master}"]
        text = re.sub(r"command = .*", lambda _: f"command = {json.dumps(command)}", job("a", 60, least=4, most=4, more="nodes = 2"))
        self.killed(text)
        self.start(text, "--reattach")
        self.finish()
        self.assertEqual([line[1] for line in self.launches()], ["1", "1"], "both parts once")
        self.assertEqual([(event["how"], event["step"]) for event in self.events("job_ended")], [("finished", 60)])
        self.assertEqual(self.events("warning"), [])
        self.assert_nothing_left()

    def test_a_job_that_ended_meanwhile_is_not_started_again(self) -> None:
        text = job("a", 20, most=1) + job("b", 100, most=1)
        self.killed(text)
        self.wait_for_end([int(self.launches("a")[0][4])])
        self.start(text, "--reattach")
        self.finish()
        self.assertEqual(len(self.launches()), 2)
        ends = {event["job"]: (event["how"], event["exit_code"], event["step"]) for event in self.events("job_ended")}
        self.assertEqual(ends, {"a": ("finished", 0, 20), "b": ("finished", 0, 100)})
        self.assert_nothing_left()

    def test_the_jobs_of_a_killed_agent_start_again_and_a_second_kill_costs_nothing(self) -> None:
        text = job("a", 80, least=2, more='checkpoint = "saved"') + job("b", 80, least=2)  # each on a separate node
        self.start(text)
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists() and self.launches("b"), "both train")
        agent = next(pid for pid in children_of(self.run.pid) if int(self.launches("a")[0][4]) in children_of(pid))
        self.kill_controller()
        os.kill(agent, signal.SIGKILL)
        for _ in range(2):
            self.start(text, "--reattach")
            self.until(lambda: any(event["job"] == "a" for event in self.events("progress")), "the job trains again")
            self.kill_controller()
        self.start(text, "--reattach")
        self.finish()
        self.assertEqual([int(line[1]) for line in self.launches("a")], [1, 2])
        self.assertGreater(int(self.launches("a")[1][3]), 0, "from its checkpoint")
        self.assertEqual(len(self.launches("b")), 1)
        self.assertEqual({event["how"] for event in self.events("job_ended")}, {"finished"})
        self.assert_nothing_left()

    def test_a_job_without_checkpoint_does_not_begin_again_beside_its_earlier_launch(self) -> None:
        text = job("a", 40, most=1).replace('save = "60s", stop = "60s"', 'save = "2s", stop = "2s"')
        self.killed(text)
        first = int(self.launches()[0][4])
        self.start(text)
        self.assertIn("agents of a killed run still train these jobs", self.run.stdout.readline())
        self.until(lambda: len(self.launches()) == 2, "it begins again")
        self.assertFalse(is_alive(first))
        self.finish()
        self.assertEqual(self.launches()[1][1:4:2], ["1", "0"], "a new run, from the beginning")
        self.assert_nothing_left()

    def test_another_file_or_other_nodes_are_refused_and_nothing_is_lost(self) -> None:
        text = job("a", LONG, most=1)
        self.killed(text)
        self.start(text + "# changed\n", "--reattach")
        _, err = self.finish(3)
        self.assertIn("jobs.toml: the file has changed since the run to reattach began; restore it from ", err)
        where = self.launches()[0]
        self.start(text, "--reattach", "--hosts", "x", nodes="exec false {host}")
        _, err = self.finish(3)
        self.assertRegex(err, "--reattach: node 'local-[12]' of the run is missing; name the same nodes as before, or omit --reattach, which ends these jobs")
        self.assertTrue(is_alive(int(where[4])))
        self.start(text, "--reattach")
        self.until(lambda: self.events("progress"), "the job trains on")
        self.run.send_signal(signal.SIGINT)
        self.finish(4)
        self.assertEqual(len(self.launches()), 1)
        self.assert_nothing_left()

    def test_after_a_damaged_record_the_jobs_are_ended_before_they_begin_again(self) -> None:
        text = job("a", 20, most=1)
        self.killed(text)
        first = int(self.launches()[0][4])
        record = next((self.folder / "work").glob("ration-output/*/nodes.json"))
        record.write_text(re.sub(r'"lease":\d+', '"lease":9000000000000000000', record.read_text()))
        self.start(text, "--reattach")
        _, err = self.finish()
        self.assertRegex(err, r"nodes\.json: its lease is not between 2 s and a century, so that this run cannot continue; its jobs are ended")
        self.assertFalse(is_alive(first))
        self.assertEqual(len(self.launches()), 2)
        self.assert_nothing_left()

    def test_without_an_earlier_run_all_jobs_start_from_the_beginning(self) -> None:
        self.start(job("a", 5), "--reattach")
        out, _ = self.finish()
        self.assertIn("no earlier run to reattach was found: all jobs start from the beginning", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
