#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Asks a policy of ration about two nodes with four GPUs each: client.py [RATION [POLICY]]"""
import json
import subprocess
import sys


class Decide:
    def __init__(self, ration: str, policy: str) -> None:
        self.child = subprocess.Popen([ration, "decide", policy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: object) -> list:
        print(json.dumps(request), file=self.child.stdin, flush=True)
        answer = json.loads(self.child.stdout.readline())
        if "error" in answer:
            raise ValueError(f"{answer['error']['message']}; {answer['error']['fix']}")
        for grant in answer["grants"]:  # a scheduler starts, resizes or stops the job here
            print(grant["job"], "gets", grant["amount"], grant["resource"], "on", grant["node"])
        return answer["grants"]  # once applied, the next request reports them as held


decide = Decide(*sys.argv[1:], *["ration", "pack"][len(sys.argv) - 1:])
nodes = [{"id": f"n{i}", "capacity.gpu": 4} for i in (1, 2)]
jobs = [{"id": name, "state": "queued", "request.gpu": gpus} for name, gpus in (("a", 4), ("b", 2), ("c", 4))]
held = decide.ask(nodes=nodes, jobs=jobs)
running = [{"id": grant["job"], "state": "running"} for grant in held]
decide.ask(jobs={"changed": running}, held={"changed": held})
print("a ends")
decide.ask(jobs={"removed": ["a"]})
