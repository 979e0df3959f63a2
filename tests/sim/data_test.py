# SPDX-License-Identifier: BSL-1.0
"""The scripts that make bench/data: what they convert and fit, on examples small enough to work by hand."""

import importlib.util
import math
import pathlib
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parents[2] / "bench" / "data"


def script(name: str):
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), DATA / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Fit(unittest.TestCase):
    fit = script("loss/fit")

    def test_curve_without_noise_is_found(self):
        weight, shape = (0.3, 2.0, 1.0), (40.0, 0.7, 90.0)
        points = [(s, self.fit.loss_at(s, weight, shape)) for s in range(5, 2000, 20)]
        error, found_weight, found_shape = self.fit.fit(points)
        self.assertLess(math.sqrt(error / len(points)), 0.004)
        for step, loss in points:
            self.assertAlmostEqual(self.fit.loss_at(step, found_weight, found_shape) / loss, 1, delta=0.015)

    def test_no_member_is_negative_and_nothing_falls_before_the_first_report(self):
        points = [(s, 1 + s / 1000) for s in range(10, 500, 10)]  # rises: the best curve that may not rise is a constant
        _, weight, shape = self.fit.fit(points)
        self.assertGreaterEqual(min(weight), 0)
        self.assertGreaterEqual(min(shape[0], shape[2]), 10)
        self.assertLess(self.fit.loss_at(10, weight, shape) - self.fit.loss_at(490, weight, shape), 0.01)

    def test_noise_of_a_step_from_means_of_ten(self):
        weight, shape = (1.0, 0.0, 0.0), (1.0, 1.0, 1.0)
        curve = [(10 * i + 5, 1.1 if i % 2 else 0.9) for i in range(100)]
        self.assertAlmostEqual(self.fit.noise_of([curve], weight, shape), math.sqrt(0.2 ** 2 / 2 * 10), delta=0.01)


class Profiles(unittest.TestCase):
    convert = script("pollux/convert")

    def test_placements_and_epochs(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "placements.csv").write_text(
                "placement,local_bsz,step_time,sync_time\n1,8,0.5,0.1\n24,8,1.5,0.5\n123,8,2,1\n132,8,4,2\n", encoding="utf-8")
            (folder / "scalability.csv").write_text(
                "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,12,8,3,1\n", encoding="utf-8")
            for batch, end in ((8, 100.0), (16, 99.5)):
                (folder / f"validation-{batch}.csv").write_text(
                    f"progress,iteration,metric,grad_sqr,grad_var\n{end},1,0,1.23456789,2\n200,2,0,3,4\n300,3,0,3,4\n", encoding="utf-8")
            times = self.convert.times_of(folder)
            gradients = list(self.convert.gradients_of(self.convert.validations_of(folder), 2))
        self.assertIn((2, 6, "42", 8, "1.5", "0.5"), times)
        self.assertIn((3, 6, "321", 8, "4", "2"), times)  # the ring 3-2-1 is the ring 1-3-2
        self.assertIn((3, 6, "", 8, "3", "1.5"), times)   # the mean of both rings
        self.assertIn((6, 12, "", 8, "3", "1"), times)
        self.assertEqual(len(times), 3 + 4)
        self.assertEqual(gradients, [("99.5", 8, "1.23457", "2"), ("99.5", 16, "1.23457", "2"), ("200", 8, "3", "4"), ("200", 16, "3", "4")])


class Rates(unittest.TestCase):
    convert = script("rates/convert")

    def test_what_cannot_run_is_left_out(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "throughputs_T4"
            folder.mkdir()
            (folder / "m.csv").write_text("global_batch_size,1,2,4\n64,1.5,nan,0\n128,,0.5,\n", encoding="utf-8")
            self.assertEqual(list(self.convert.elasticflow(folder)), [("m", "t4", 0, 64, 1, 1.5), ("m", "t4", 0, 128, 2, 0.5)])


if __name__ == "__main__":
    unittest.main()
