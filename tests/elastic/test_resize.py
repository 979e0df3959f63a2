# SPDX-License-Identifier: BSL-1.0
"""Real training in one, two and three processes, commanded by a fake for ration."""
import ast
import contextlib
import io
import re
import runpy
import signal
import sys
import unittest
import unittest.mock

import support

support.need_torch()
JOB = str(support.HERE / "job.py")
STEP = re.compile(r"step=(\d+) loss=(\S+)")
UNIT = 2**-24  # the most that one rounding moves a number of single precision, as a share of it
# gradient_job.py: a gradient is a sum of 18 terms (9 samples, 2 losses), the magnitudes of which add up to less than 4. Rounding
# moves such a sum by at most 17 units of those magnitudes, and each term by 10 (twice as far for what cancels within the model's
# output). Two orders of summation are therefore at most 2 * (17 + 2 * 10) < 80 units apart; one missing sample moves it by 0.1.
GRADIENT = 80 * UNIT * 4
# job.py: a loss is the mean of 100 terms of one sign, so two orders of summation are at most 2 * 99 units apart. Training carries
# differences along, and its learning rate falls: with two and three ranks they stayed below 6 units over 3000 steps.
LOSS = 2 * 99 * UNIT


def losses(output):
    return [(int(step), float(loss)) for step, loss in STEP.findall(output)]


def gradients(output):
    """By parameter, besides the loss itself; None where a parameter has none."""
    return {name: ast.literal_eval(numbers) for name, numbers in (line.split(" ", 1) for line in output.splitlines())}


class Resize(unittest.TestCase):
    def setUp(self):
        self.ration = support.Ration(self)

    def launch(self, devices, steps=100000, pause=0.01):
        self.ration.launch([JOB, str(steps), str(pause)], devices)

    def await_steps(self, count):
        first = []

        def enough():
            steps = self.ration.of("step")
            first.extend(steps[:1] if not first else [])
            return steps and int(steps[-1]["s"]) >= int(first[0]["s"]) + count

        self.ration.until(enough, f"{count} steps")

    def save(self, **more):
        said = len(self.ration.of("ckpt"))
        number = self.ration.tell("save", by="60.000", **more)
        self.ration.until(lambda: len(self.ration.of("ckpt")) > said, "a checkpoint")
        self.assertIn({"c": number, "ok": "1"}, [{key: answer[key] for key in ("c", "ok")} for answer in self.ration.of("ack")])
        return self.ration.of("ckpt")[-1]

    def stop(self):
        self.ration.tell("stop", by="60.000")
        status, output, errors = self.ration.outcome()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([(bye["rc"], bye["why"]) for bye in self.ration.of("bye")], [("0", "stop")])
        self.assertEqual(list(self.ration.folder.iterdir()), [self.ration.folder / "p.sock"])  # nothing is left behind
        return output

    def test_losses_do_not_depend_on_how_many_ranks_compute_them(self):
        resized = []
        for devices in (1, 2, 3, 1):
            self.launch(devices)
            self.await_steps(5)
            hello = [said for said in self.ration.of("hello") if said["r"] == "0"]
            self.assertEqual([(said["w"], said["g"]) for said in hello],
                             [(str(devices), ",".join(f"cpu-{at}" for at in range(devices)))])
            self.assertEqual(self.ration.of("want")[0]["n"], "3")
            self.assertEqual(self.ration.of("step")[-1]["b"], "100")
            saved = self.save(hold=1)
            self.assertEqual(saved["ok"], "1")
            self.assertGreater(float(saved["d"]), 0)
            part = losses(self.stop())
            self.assertEqual(part[-1][0], int(saved["s"]))  # no step after the save
            resized += part
        steps = resized[-1][0]
        self.assertEqual([step for step, _ in resized], list(range(1, steps + 1)))  # none lost, none twice
        for (step, whole), (_, split) in zip(self.unresized(steps), resized):
            self.assertAlmostEqual(split / whole, 1, delta=LOSS, msg=f"step {step} of {steps}")

    def test_losses_add_up_and_not_every_rank_uses_every_parameter(self):
        job = str(support.HERE / "gradient_job.py")
        found = []
        for devices in (1, 3):
            self.ration.launch([job], devices)
            status, output, errors = self.ration.outcome()
            self.assertEqual(status, 0, errors)
            found.append(output)
        whole, split = map(gradients, found)
        self.assertEqual(whole.keys(), split.keys())
        self.assertEqual({name for name in whole if whole[name] is None}, {"none.weight", "none.bias"})
        for name, numbers in whole.items():
            self.assertEqual(numbers is None, split[name] is None, name)
            for one, other in zip(numbers or [], split[name] or [], strict=True):
                self.assertAlmostEqual(one, other, delta=GRADIENT, msg=name)

    def test_a_batch_for_each_rank_follows_their_number_and_a_loss_ends_all_at_one_step(self):
        for devices in (1, 2):
            self.ration.launch([str(support.HERE / "loop_job.py")], devices)
            status, output, errors = self.ration.outcome()
            self.assertEqual(status, 0, errors)
            batch = 2 * devices
            self.assertEqual(sorted(output.splitlines()), [f"rank={rank} batch={batch} steps=4 position={4 * batch}" for rank in range(devices)])

    def test_epochs_end_once_each_also_where_the_job_died_between_an_epoch_and_its_end(self):
        # Ten samples in batches of four: the third batch reaches over the end of the first pass, and the eighth ends the third one.
        expected = ["epoch=0 steps=[0, 1, 2] mean=4.5 rate=0.25", "epoch=1 steps=[3, 4] mean=4.5 rate=0.125",
                    "epoch=2 steps=[5, 6, 7] mean=4.5 rate=0.0625"]
        job = str(support.HERE / "epoch_job.py")
        for devices in (1, 2):
            with self.subTest(devices=devices):
                self.ration = support.Ration(self)
                self.ration.launch([job, "5"], devices)
                status, output, _ = self.ration.outcome()
                self.assertNotEqual(status, 0)
                self.assertEqual(sorted(set(output.splitlines())), [f"rank={rank} {expected[0]}" for rank in range(devices)])
                self.ration.launch([job, "-1"], devices)
                status, output, errors = self.ration.outcome()
                self.assertEqual(status, 0, errors)
                ends = [line.replace("steps=[3, 4]", "steps=[]") for line in expected[1:]]  # the checkpoint of step 5 is the newest
                self.assertEqual(sorted(output.splitlines()), sorted(f"rank={rank} {line}" for rank in range(devices) for line in ends))
                evals = [(said["s"], said["m"], float(said["v"])) for said in self.ration.of("eval")]
                self.assertEqual(evals[-2:], [("5", "index", 4.5), ("8", "index", 4.5)])

    def test_an_epoch_that_is_left_early_is_an_error(self):
        import ration  # pylint: disable=import-outside-toplevel

        run = ration.elastic(batch=2)
        epochs = run.epochs(run.batches(8), 8, 2)
        next(next(epochs)[1])
        with self.assertRaisesRegex(RuntimeError, "epoch 0: its batches are not used up"):
            next(epochs)

    def test_the_batch_is_given_once(self):
        import ration  # pylint: disable=import-outside-toplevel

        for given in ({}, {"batch": 4, "batch_per_rank": 2}):
            with self.assertRaisesRegex(ValueError, "the batch is given once"):
                ration.elastic(**given)

    def test_no_thread_of_a_process_group_outlives_the_interpreter(self):
        self.ration.launch([str(support.HERE / "exit_job.py")], 2)
        status, output, errors = self.ration.outcome()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(sorted(output.splitlines()), ["rank 0 ends", "rank 1 ends"])
        self.assertEqual([(bye["rc"], bye["why"]) for bye in self.ration.of("bye")], [("0", "done")])

    def test_a_model_in_distributed_data_parallel_gives_the_same_losses(self):
        self.ration.launch([JOB, "12"], 3, RATION_TEST_DDP="1")
        status, output, errors = self.ration.outcome()
        self.assertEqual(status, 0, errors)
        for (step, whole), (_, split) in zip(self.unresized(12), losses(output)):
            self.assertAlmostEqual(split / whole, 1, delta=LOSS, msg=f"step {step}")

    def unresized(self, steps):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), unittest.mock.patch.object(sys, "argv", [JOB, str(steps)]):
            runpy.run_path(JOB)  # at its full size, here and in one go
        found = losses(output.getvalue())
        self.assertEqual(len(found), steps)
        return found

    def test_a_hold_ends_with_go_and_in_time(self):
        self.launch(2)
        self.await_steps(2)
        self.ration.incarnation += 1
        other = self.ration.tell("stop")  # for another incarnation: it is not obeyed
        self.ration.incarnation -= 1
        first = self.save(hold=1)
        self.assertNotIn(other, [said["c"] for said in self.ration.of("ack")])
        self.ration.listen(0.3)
        held_at = int(first["s"])
        self.assertTrue(all(int(said["s"]) <= held_at for said in self.ration.of("step")))
        again = self.save(hold=1)  # the second request gets the same report, and no step was taken
        self.assertEqual((again["s"], again["ok"]), (first["s"], "1"))
        self.ration.tell("go")
        self.ration.until(lambda: int(self.ration.of("step")[-1]["s"]) > held_at, "training goes on after go")
        number = self.ration.tell("save", by="0.100", hold=1)
        self.ration.until(lambda: number in [said["c"] for said in self.ration.of("ack")], "the answer")
        self.ration.until(lambda: len(self.ration.of("ckpt")) == 3, "the third checkpoint")
        held_at = int(self.ration.of("ckpt")[-1]["s"])
        self.ration.until(lambda: int(self.ration.of("step")[-1]["s"]) > held_at, "training goes on by itself")
        self.stop()

    def test_sigterm_saves_and_stops_and_a_save_may_fail(self):
        self.launch(2)
        self.await_steps(2)
        kept = self.ration.checkpoints.with_name("kept")
        self.ration.checkpoints.rename(kept)
        self.ration.checkpoints.write_text("not a folder")
        failed = self.save(hold=1)
        self.assertEqual(failed["ok"], "0")
        self.ration.until(lambda: int(self.ration.of("step")[-1]["s"]) > int(failed["s"]) + 3, "training goes on")
        self.ration.checkpoints.unlink()
        kept.rename(self.ration.checkpoints)
        self.ration.job.send_signal(signal.SIGTERM)
        status, output, errors = self.ration.outcome()
        self.assertEqual(status, 0)
        self.assertEqual(errors.count("cannot write a checkpoint"), 1)  # only rank 0 reports it
        at = losses(output)[-1][0]
        self.assertEqual(int(self.ration.of("ckpt")[-1]["s"]), at)
        self.launch(1, steps=at + 2)
        status, output, _ = self.ration.outcome()
        self.assertEqual((status, [step for step, _ in losses(output)]), (0, [at + 1, at + 2]))
        self.assertIn("rank 0 done", output)
        self.assertEqual([(bye["rc"], bye["why"]) for bye in self.ration.of("bye")], [("0", "done")])


if __name__ == "__main__":
    support.run_tests()
