# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes` when a controller or an agent is killed or stopped: jobs end with their lease, and none runs twice.

usage: lease_test.py [CLASS]    RATION_PROGRAM names the program
"""
import contextlib
import os
import signal
import time
import unittest

from nodes_case import LONG, PATIENCE, RATION, Nodes, children_of, is_alive, job


class LeaseTest(Nodes):
    def test_jobs_are_saved_and_stopped_once_the_lease_of_a_killed_controller_is_over(self) -> None:
        self.start(job("a", LONG, more='checkpoint = "saved"'), "--node-lease", "3s")
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        agents = self.agents = children_of(self.run.pid)
        self.run.kill()
        self.run.wait()
        self.assertTrue(all(map(is_alive, [int(line[4]) for line in self.launches()])), "the jobs run on at first")
        end = time.monotonic() + PATIENCE
        while any(map(is_alive, agents)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertFalse(any(is_alive(int(line[4])) for line in self.launches()))
        self.assertGreater(int((self.folder / "work" / "saved" / "step").read_text()), 0)

    def suspend(self, *options: str, nodes: str = "local:2", jobs: str = "") -> None:
        """Stops a controller until its agents have ended, because no message came within their lease."""
        self.start(jobs or job("a", 60, more='checkpoint = "saved"') + job("b", 20, least=2), "--node-lease", "2s", *options, nodes=nodes)
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        self.agents = children_of(self.run.pid)
        os.kill(self.run.pid, signal.SIGSTOP)
        self.wait_for_end(self.agents)

    def test_a_controller_that_was_suspended_starts_its_nodes_again(self) -> None:
        self.suspend()
        os.kill(self.run.pid, signal.SIGCONT)
        self.finish()
        self.assertEqual({event["how"] for event in self.events("job_ended")}, {"finished"})
        self.assertGreater(int(self.launches("a")[-1][3]), 0, "from its checkpoint")
        messages = [event["message"] for event in self.events("warning")]
        self.assertIn("it has ended its jobs, since no message of this run came within its lease; it is started again, and they continue from "
                      "their last checkpoints", messages)
        self.assert_devices_used_once()
        self.assert_nothing_left()

    def test_without_a_node_the_jobs_wait_and_then_fail_with_the_reason(self) -> None:
        self.suspend("--hosts", "n1", "--node-wait", "3s", nodes=f"[ -e away ] || exec {RATION} node # {{host}}", jobs=job("a", LONG, more='checkpoint = "saved"'))
        (self.folder / "work" / "away").touch()
        os.kill(self.run.pid, signal.SIGCONT)
        self.finish(1)
        self.assertEqual([(event["how"], event["why"]) for event in self.events("job_ended")], [("failed", "no node has answered for 3.0 s")])
        warnings = [(event["subject"], event["message"]) for event in self.events("warning")]
        self.assertIn(("nodes", "none answers; the jobs wait for one for 3.0 s, as --node-wait allows"), warnings)
        self.assert_nothing_left()

    def test_nodes_that_were_silent_beyond_their_lease_are_used_again(self) -> None:
        self.start(job("a", 60, more='checkpoint = "saved"'), "--node-lease", "2s")
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        stopped = [pid for agent in children_of(self.run.pid) for pid in (agent, *children_of(agent))]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):  # its guard may have ended it, and its agent reaped it
                os.kill(pid, signal.SIGCONT)
        self.finish()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertEqual(len(self.launches()), 2)
        self.assertGreater(int(self.launches()[1][3]), 0, "from its checkpoint")
        self.assert_nothing_left()

    def saved_job_without_controller(self, *options: str, more: str = "") -> tuple[int, int]:
        """The agent and the process of a job that has saved. Their controller was killed, so that no other agent starts."""
        text = job("a", LONG, more='checkpoint = "saved"\n' + more)
        self.start(text.replace('save = "60s", stop = "60s"', 'save = "500ms", stop = "500ms"'), *options)
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        self.agents = children_of(self.run.pid)
        agent = self.agent_of_first_job()
        self.run.kill()
        self.run.wait()
        return agent, int(self.launches()[0][4])

    def test_the_jobs_of_a_killed_agent_end_although_no_other_agent_starts(self) -> None:
        agent, child = self.saved_job_without_controller()
        os.kill(agent, signal.SIGKILL)
        self.wait_for_end([child])
        for other in self.agents:
            if is_alive(other):
                os.kill(other, signal.SIGTERM)
        self.assert_nothing_left()

    def test_a_stopped_agent_and_its_jobs_end_after_their_lease(self) -> None:
        agent, child = self.saved_job_without_controller("--node-lease", "2s", more='grace = "500ms"')
        os.kill(agent, signal.SIGSTOP)
        self.wait_for_end([agent, child])
        self.assert_nothing_left()


class LostNode(Nodes):
    """Waits longer than 30 s for the time in which a node can end its jobs."""

    def start_short(self) -> int:
        """The agent of a job that has saved, with a short lease and short deadlines."""
        text = job("a", 100, more='checkpoint = "saved"\ngrace = "1s"').replace('save = "60s", stop = "60s"', 'save = "1s", stop = "1s"')
        self.start(text, "--node-lease", "3s")
        self.until(lambda: (self.folder / "work" / "saved" / "step").exists(), "the job has saved")
        return self.agent_of_first_job()

    def test_a_node_without_power_is_lost_after_its_lease_and_not_before(self) -> None:
        agent = self.start_short()
        self.agents = children_of(agent)  # its job and its guard
        for pid in (agent, *self.agents):
            os.kill(pid, signal.SIGSTOP)
        os.kill(int(self.launches()[0][4]), signal.SIGKILL)
        stopped = time.monotonic()
        self.until(lambda: len(self.launches()) > 1, "the job runs elsewhere")
        self.assertGreater(time.monotonic() - stopped, 3 + 1 + 1 + 1 + 29)
        self.finish()
        first, second = (event["devices"].split(":")[0] for event in self.events("job_started"))
        self.assertNotEqual(first, second)
        self.assertGreater(int(self.launches()[1][3]), 0)
        messages = [event["message"] for event in self.events("warning")]
        self.assertIn("it is lost; its jobs continue from their last checkpoints on any node that answers", messages)

    def test_the_job_of_a_stopped_agent_continues_and_never_runs_twice(self) -> None:
        agent, child = self.start_short(), int(self.launches()[0][4])
        os.kill(agent, signal.SIGSTOP)
        self.until(lambda: len(self.launches()) > 1, "the job runs again")
        self.assertFalse(is_alive(agent) or is_alive(child))
        self.finish()
        self.assertGreater(int(self.launches()[1][3]), 0)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
