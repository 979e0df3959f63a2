# SPDX-License-Identifier: BSL-1.0
"""A run with one job on several nodes, for tests. RATION_BREATHER names a policy that resizes it."""
import json
import os
import pathlib
import re
import sys

from nodes_case import HERE, Nodes, job


class SpanCase(Nodes):
    """A job on several nodes: span_job.py under a policy that resizes it from two devices to four and back."""

    STEPS = 70

    def start_span(self, steps: int = STEPS, more: str = "", start: str = "60s", stop: str = "60s", options: tuple = (), nodes: str = "local:2") -> None:
        text = job("a", steps, most=4, more=f'nodes = 2\ncheckpoint = "saved"\n{more}')
        words = json.dumps([sys.executable, str(HERE / "span_job.py"), str(steps), "{nodes}", "{node_rank}", "{devices}", "{master}"])
        text = re.sub(r"command = .*", lambda _: f"command = {words}", text)
        text = re.sub(r"deadlines = .*", f'deadlines = {{ save = "60s", stop = "{stop}", start = "{start}" }}', text)
        self.start(text, "--policy", os.environ["RATION_BREATHER"], *options, nodes=nodes)

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

    def part(self, incarnation: int, rank: int) -> int:
        """The process of this node rank."""
        launched = [line for line in self.launches() if int(line[1]) == incarnation]
        ordered = sorted(launched, key=lambda line: pathlib.Path(f"/proc/{line[4]}/environ").read_bytes().find(f"NODE_RANK={rank}\0".encode()) < 0)
        return int(ordered[0][4])
