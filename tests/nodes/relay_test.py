# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes` over connections that are slow, or end in the middle of a message."""
import sys
import unittest

from nodes_case import HERE, RATION, Nodes, job


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
