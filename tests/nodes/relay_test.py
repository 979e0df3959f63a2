# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes` over connections that are slow, or end in the middle of a message."""
import sys
import unittest

from nodes_case import HERE, RATION, Nodes, children_of, job


class RelayTest(Nodes):
    def start_behind_relay(self, mode: str, jobs: str, *options: str) -> None:
        self.start(jobs, "--hosts", "n1", *options, nodes=f"{sys.executable} {HERE}/relay.py {mode} {RATION} node # {{host}}")

    def test_a_slow_node_whose_messages_come_twice_costs_nothing(self) -> None:
        self.start_behind_relay("slow", job("a", 30) + job("b", 30))
        self.finish()
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished", "finished"])
        for name in "ab":
            self.assertEqual(len(self.launches(name)), 1)
            self.assertEqual([event["step"] for event in self.events("progress") if event["job"] == name], list(range(1, 31)), "each step once")
        self.assertEqual(self.events("warning"), [])
        self.assert_nothing_left()

    def test_a_banner_without_the_end_of_its_line_is_skipped(self) -> None:
        self.start(job("a", 5), "--hosts", "n1", nodes=f"printf 'Welcome to {{host}}'; exec {RATION} node")
        self.finish()
        self.assertEqual(self.events("warning"), [])

    def test_a_host_that_hangs_is_named_and_costs_the_others_nothing(self) -> None:
        script = f"if [ {{host}} = n2 ]; then printf Welcome; exec sleep 1000; fi; exec {RATION} node"
        self.start(job("a", 5), "--hosts", "n1,n2", nodes=script)
        self.finish()
        warnings = [(event["subject"], event["message"]) for event in self.events("warning")]
        self.assertIn(("node n2", "its command has sent no message within 5 s; test it by hand"), warnings)
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertEqual([one for one in warnings if "left out" in one[1]], [], "the run has not waited for its start")
        self.assertEqual(children_of(self.run.pid), [])

    def test_a_message_that_is_cut_in_half_costs_only_that_message(self) -> None:
        self.start_behind_relay("cut", job("a", 100))
        self.finish()
        self.assertEqual([(event["how"], event["step"]) for event in self.events("job_ended")], [("finished", 100)])
        self.assertEqual(len(self.launches()), 1, "the job runs on")
        steps = [event["step"] for event in self.events("progress")]
        self.assertEqual(steps, sorted(set(steps)), "nothing twice")
        self.assertLess(len(set(range(1, 101)) - set(steps)), 5, sorted(set(range(1, 101)) - set(steps)))
        messages = [event["message"] for event in self.events("warning")]
        self.assertEqual(messages[:2], ["its last message is cut off", "its command has ended; it is started again"])
        self.assert_devices_used_once()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
