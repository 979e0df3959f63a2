# SPDX-License-Identifier: BSL-1.0
"""A service for tests, by the Python package alone. usage: level_service.py SECONDS NEEDED [P95...]

With values it reports each of them for a second, and the last one to its end. Without values its p95 is 0.19 with NEEDED devices, and
inversely proportional to their number; then it requests one more device as long as its p95 is above 0.2, in a `ration.pool`. It saves
the time of its end, so that a resize does not prolong it.
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration  # noqa: E402
from ration import progress  # noqa: E402

SECONDS, NEEDED, VALUES = float(sys.argv[1]), int(sys.argv[2]), [float(word) for word in sys.argv[3:]]
STATE = pathlib.Path(os.environ.get("RATION_CHECKPOINT", "."), "until")
DEVICES = os.environ["RATION_DEVICES"].split(",") if "RATION_DEVICES" in os.environ else ["cpu-0"]


def p95(passed: float) -> float:
    return VALUES[min(int(passed), len(VALUES) - 1)] if VALUES else 0.19 * NEEDED / len(DEVICES)


def main() -> None:
    begun = time.time()
    until = float(STATE.read_text()) if STATE.exists() else begun + SECONDS
    job = progress.open()
    pool = ration.pool(1, 4, 0.3, lambda load: 1 if p95(0) > 0.2 else 0, want=job.want)
    pool.size = len(DEVICES)
    job.listen()
    job.hello(world=len(DEVICES), threads=1, devices=DEVICES)
    step, command = 0, None
    while time.time() < until and (command is None or command.kind != "stop"):
        command = job.command(0.1)
        step += 1
        job.step(step, 1.0)
        job.eval(step, "p95", p95(time.time() - begun))
        if not VALUES:
            pool.poll()
        if command is not None and command.kind == "save":
            STATE.write_text(str(until))
            job.checkpoint(step)
            command = job.hold(command.by) if command.hold else command
    if time.time() >= until:
        pathlib.Path("done.web").touch()  # for an elastic_job.py that outlasts it
    job.bye(0, "done" if time.time() >= until else "stop")
    job.close()


main()
