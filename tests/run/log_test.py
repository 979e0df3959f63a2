# SPDX-License-Identifier: BSL-1.0
"""ration reads the output of programs that do not report to it: `log` in a run, and `ration try-log`.

logs/ has real output with standard error, without lines that name a folder of a machine: xgboost 3.2.0, Keras 3.15.1 (verbose 1 and 2), Transformers 5.23.0
(Trainer), Lightning 2.6.6 (TQDMProgressBar), nanoGPT 3adf61e.
"""
import json
import signal
import subprocess
import sys
import unittest

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, job

LOGS = HERE / "logs"


def try_log(*words: str, text: str = "") -> tuple[int, list[dict], str]:
    done = subprocess.run([RATION, "try-log", *words, "--json"], input=text, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


class Presets(unittest.TestCase):
    def check(self, preset: str, log: str, metric: str, wanted: list[tuple[int, dict]]) -> None:
        code, lines, _ = try_log(str(LOGS / log), "--preset", preset, "--metric", metric)
        self.assertEqual(code, 0)
        self.assertEqual([(r["step"], r["metrics"]) for r in lines[:-1]], wanted)
        self.assertEqual(lines[-1]["unreadable"], 0)

    def test_xgboost(self) -> None:
        losses = [0.51337, 0.39218, 0.31229, 0.25952]
        self.check("xgboost", "xgboost.log", "eval_logloss", [(step, {"eval_logloss": x}) for step, x in enumerate(losses)])
        self.check("xgboost", "xgboost.log", "auc", [(step, {"auc": x}) for step, x in enumerate([0.94417, 0.98417, 0.995, 0.99667])])

    def test_keras(self) -> None:
        self.check("keras", "keras-bar.log", "val_loss", [(1, {"loss": 0.7873}), (1, {"loss": 0.6978, "val_loss": 0.7088}),
                                                          (2, {"loss": 0.6672}), (2, {"loss": 0.6966, "val_loss": 0.7086})])
        self.check("keras", "keras-lines.log", "val_accuracy", [(1, {"loss": 0.8877, "val_accuracy": 0.5}), (2, {"loss": 0.8817, "val_accuracy": 0.5})])

    def test_huggingface(self) -> None:
        self.check("huggingface", "huggingface.log", "eval_loss",
                   [(1, {"loss": 0.6936}), (2, {"loss": 0.6928}), (2, {"eval_loss": 0.6929}), (3, {"loss": 0.6939}), (4, {"loss": 0.6923}),
                    (4, {"eval_loss": 0.6929})])
        code, lines, _ = try_log("-", "--preset", "huggingface", text="{'loss': 0.5, 'epoch': 1.0}\n")  # as version 4 prints numbers
        self.assertEqual((code, lines[0]["metrics"]), (0, {"loss": 0.5}))

    def test_lightning(self) -> None:
        self.check("lightning", "lightning.log", "val_loss",
                   [(0, {"loss": 0.821}), (0, {"loss": 0.393}), (0, {"loss": 0.392}), (0, {"val_loss": 0.226}), (1, {"loss": 0.392, "val_loss": 0.226}),
                    (1, {"loss": 0.267}), (1, {"loss": 0.097}), (1, {"loss": 0.136}), (1, {"val_loss": 0.0859})])

    def test_nanogpt(self) -> None:
        self.check("nanogpt", "nanogpt.log", "val_loss",
                   [(0, {"val_loss": 10.8284}), (0, {"loss": 10.8422}), (1, {"loss": 10.8349}), (2, {"val_loss": 10.8205}), (2, {"loss": 10.831}),
                    (3, {"loss": 10.8159}), (4, {"val_loss": 10.8227}), (4, {"loss": 10.8306})])


class TryLog(unittest.TestCase):
    def test_lines_that_give_no_record_are_counted_and_shown(self) -> None:
        text = "start\nstep 1 loss 2\nstep 2 loss n/a\n" + "x" * 5000 + "\n\nend\x1b[31m\nstep 3 loss nan"
        code, lines, _ = try_log("-", "--pattern", r"step (?<step>\d+) loss (?<loss>\S+)", text=text)
        self.assertEqual(code, 0)
        self.assertEqual(lines[:-1], [{"step": 1, "metrics": {"loss": 2}}, {"step": 3, "metrics": {"loss": "nan"}}])
        self.assertEqual(lines[-1], {"lines": 6, "matched": 3, "records": 2, "unreadable": 1, "overlong": 1, "costly": 0, "unread": ["start", "step 2 loss n/a", "end"]})

    def test_people_get_the_same(self) -> None:
        done = subprocess.run([RATION, "try-log", "-", "--pattern", r"step (?<step>\d+)", "--pattern", r"loss (?<loss>\S+)"], input="hello\nstep 1 loss 2\n",
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "step 1  loss 2\n1 of 2 lines match, 1 give a record\nThe first lines that were not read:\n  hello\n")

    def test_the_text_of_a_group_that_is_not_a_number_is_shown(self) -> None:
        done = subprocess.run([RATION, "try-log", "-", "--pattern", r"Loss: (?<loss>\S+)"], input="Loss: 2.0000, lr\nLoss: 1.5,\n", capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, "2 of 2 lines match, 0 give a record\nGroups that are not a number: 2; the last is '1.5,' of 'loss'\n"
                                                             "The first lines that were not read:\n  Loss: 2.0000, lr\n  Loss: 1.5,\n"))

    def test_parts_of_numbers_are_not_read(self) -> None:
        text = "step 1/9 loss: 8,748\nstep 2/9 loss: 0,35\nstep 3/9 loss: 97%\nstep 4/9 loss: 1.#QNAN\nstep 5/9 loss: 0.25\n"
        code, lines, _ = try_log("-", "--pattern", r"step (?<step>\d+)/\d+ loss: (?<loss>[-+.\w]+)", text=text)
        self.assertEqual((code, lines[:-1], lines[-1]["unreadable"]), (0, [{"step": 5, "metrics": {"loss": 0.25}}], 4))

    def test_keras_without_an_epoch_line_counts_its_losses(self) -> None:
        text = "".join(f"227/227 [====] - 147s 636ms/step - loss: {loss}\n" for loss in (5.1919, 3.8921, 3.8921))
        code, lines, _ = try_log("-", "--preset", "keras", text=text)
        self.assertEqual([line["step"] for line in lines[:-1]], [1, 2, 3])

    def test_the_exit_code_tells_that_nothing_was_read(self) -> None:
        for text in ("", "other\n", "loss x=\n"):
            with self.subTest(text=text):
                self.assertEqual(try_log("-", "--pattern", r"loss (?<loss>\S+)", text=text)[0], 1)

    def test_mistakes_are_named(self) -> None:
        for words, sentence in ((["-"], "add --pattern REGEX or --preset NAME"), (["-", "--preset", "kears"], "did you mean 'keras'?"),
                                (["-", "--pattern", "loss"], "it needs a group (?<loss>...)"), (["/", "--preset", "keras"], "/: is a folder; name a file"),
                                (["-", "--pattern", "(?<loss>x)", "--metric", "accuracy"], "(?<accuracy>"),
                                (["/missing.log", "--preset", "keras"], "/missing.log: cannot be opened (No such file or directory); name a file")):
            with self.subTest(words=words):
                code, lines, error = try_log(*words)
                self.assertEqual((code, lines), (2, []))
                self.assertIn(sentence, error)


class Unread(RunTest):
    """A job whose output ration cannot read."""

    def run_script(self, script: str, more: str = r"log = 'loss=(?<loss>\S+)'", **options) -> tuple[list[str], str]:
        """The warnings, and the reason at the job's end."""
        self.write(job("plain", [PYTHON, "-c", script], more, **options))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events()
        return ([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "plain"],
                next(e["why"] for e in events if e["event"] == "job_ended"))

    def test_it_is_named_once_after_200_lines_and_again_at_the_end(self) -> None:
        warnings, why = self.run_script("import time\nfor i in range(250): print('loss:', i)\ntime.sleep(1)\nprint('loss: end'); time.sleep(1)")
        self.assertEqual(len(warnings), 1)
        self.assertIn("'log' read nothing from its output, whose last line is 'loss: 249'; test a pattern with ration try-log ", warnings[0])
        self.assertIn("whose last line is 'loss: end'", why)

    def test_a_short_job_is_named_at_its_end_only(self) -> None:
        warnings, why = self.run_script("for i in range(199): print('loss:', i)")
        self.assertEqual(warnings, [])
        self.assertIn("'log' read nothing", why)

    def test_a_group_that_is_not_a_number_is_named_with_its_text(self) -> None:
        warnings, why = self.run_script("for i in range(24): print('Loss: 2.0000, lr')\nprint('saved')", r"log = 'Loss: (?<loss>\S+)'")
        self.assertEqual(warnings, [])
        self.assertEqual(why.split(" /")[0], "'log' matched 24 lines of its output, but group 'loss' has the text '2.0000,', not a number; "
                                             "test a pattern with ration try-log")
        _, why = self.run_script("print('step 1,000 loss 1')", r"log = 'step (?<step>\S+) loss (?<loss>\S+)'")
        self.assertIn("'log' matched 1 line of its output, but group 'step' has the text '1,000', not a number; test", why)

    ACCURACY = "target = { val_acc = { acceptable = 65, objective = 80 } }"

    def test_a_target_without_its_metric_is_named_although_another_one_is_read(self) -> None:
        warnings, why = self.run_script("import time\nfor i in range(220): print('acc: 50, loss=1')\ntime.sleep(1)",
                                        r"log = ['loss=(?<loss>\S+)', 'acc=(?<val_acc>\S+)']", target=self.ACCURACY)
        unread = r"'log' read no 'val_acc', the metric of the target, from its output by the pattern 'acc=(?<val_acc>\S+)'; test a pattern with ration try-log"
        self.assertEqual([text.split(" /")[0] for text in (*warnings, why)], ["so far, " + unread, unread])

    def test_a_metric_of_the_target_that_is_not_a_number_is_named_although_another_one_is_read(self) -> None:
        _, why = self.run_script("print('acc 50%, loss 1')", r"log = 'acc (?<val_acc>\S+), loss (?<val_loss>\S+)'", target=self.ACCURACY)
        self.assertIn("'log' matched 1 line of its output, but group 'val_acc' has the text '50%', not a number; test a pattern with", why)

    def test_one_record_of_the_target_is_enough(self) -> None:
        pattern = r"log = ['loss=(?<loss>\S+)', 'acc=(?<val_acc>\S+)']"
        self.assertEqual(self.run_script("print('acc=50')\nfor i in range(220): print('loss=1')", pattern, target=self.ACCURACY), ([], ""))

    def test_one_record_is_enough(self) -> None:
        self.assertEqual(self.run_script("for i in range(250): print('other')\nprint('loss=3')")[1], "")

    def test_a_few_lines_are_enough_after_thirty_seconds_and_none_without_log(self) -> None:
        wait = [PYTHON, "-c", "import time; print('loading'); time.sleep(33)"]
        self.write(job("plain", wait, more=r"log = 'loss=(?<loss>\S+)'"), job("mute", wait), job("brief", [PYTHON, "-c", "print('loss=1')"]))
        self.assertEqual(self.run_jobs("--log", "log.jsonl").returncode, 0)
        unread = "'log' read nothing from its output, whose last line is 'loading'; test a pattern with ration try-log"
        mute = "it has not reported its progress; let 'log' or 'metrics' of the job read it, or let the script report it"
        warnings = {e["subject"]: e["message"] for e in self.events() if e["event"] == "warning" and e["message"].startswith("so far, ")}
        reasons = {e["job"]: e["why"] for e in self.events() if e["event"] == "job_ended"}
        self.assertEqual({name: text.split(" /")[0] for name, text in warnings.items()}, {"plain": "so far, " + unread, "mute": "so far, " + mute})
        self.assertEqual({name: text.split(" /")[0] for name, text in reasons.items()}, {"plain": unread, "mute": mute, "brief": ""})

    def test_a_job_that_fails_has_the_reason_of_its_failure_alone(self) -> None:
        self.write(job("broken", [PYTHON, "-c", "import absent"], more=r"log = 'loss=(?<loss>\S+)'"))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken failed: exit code 1; its last line: ModuleNotFoundError: No module named 'absent'\n", done.stdout)


class Values(RunTest):
    """Values that a run reads or does not read, by its event log."""

    def run_script(self, script: str, more: str, target: str, code: int = 0) -> list[dict]:
        self.write(job("plain", ["/bin/sh", "-c", script], more, target=f"target = {target}"))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return self.events()

    def how_it_ended(self, events: list[dict]) -> tuple[str, str]:
        return next((e["how"], e["why"]) for e in events if e["event"] == "job_ended")

    def test_nan_and_infinities_of_the_metric_of_a_target_end_the_job_and_are_logged_as_such(self) -> None:
        cases = (("for i in 1 2 3 4 5; do echo val_loss=nan; sleep 0.2; done; sleep 30", r"log = 'val_loss=(?<val_loss>\S+)'", "val_loss", "nan"),
                 ("for i in 1 2 3 4 5; do echo ppl=inf; sleep 0.2; done; sleep 30", r"log = 'ppl=(?<perplexity>\S+)'", "perplexity", "inf"),
                 ("for i in 1 2 3 4 5; do echo loss=-Infinity; sleep 0.2; done; sleep 30", r"log = 'loss=(?<loss>\S+)'", "loss", "-inf"),
                 ("echo step,f1 > m.csv; for i in 1 2 3 4; do echo $i,NaN >> m.csv; done; sleep 30", "metrics = { csv = 'm.csv', f1 = 'f1' }", "f1", "nan"),
                 ("for i in 1 2 3 4; do echo '{\"f1\": -Infinity}' >> m.jsonl; done; sleep 30", "metrics = { jsonl = 'm.jsonl', f1 = 'f1' }", "f1", "-inf"))
        for script, more, metric, value in cases:
            with self.subTest(metric=metric, more=more):
                events = self.run_script(script, more, f"{{ {metric} = {{ objective = 0.5 }} }}", code=1)
                self.assertEqual(self.how_it_ended(events), ("diverged", f"its {metric} is no longer a finite number"))
                values = [e["value"] for e in events if e["event"] == "progress"]
                self.assertGreaterEqual(len(values), 3)
                self.assertEqual(set(values), {value})

    def test_the_metric_that_is_nan_is_named(self) -> None:
        events = self.run_script("for i in 1 2 3 4; do echo loss=nan acc=0.5; sleep 0.2; done; sleep 30", r"log = 'loss=(?<loss>\S+) acc=(?<accuracy>\S+)'",
                                 "{ accuracy = { objective = 0.9 } }", code=1)
        self.assertEqual(self.how_it_ended(events), ("diverged", "its loss is no longer a finite number"))

    def test_the_last_line_needs_no_end_but_one_that_a_signal_cut_does_not_count(self) -> None:
        sources = ((r"log = 'loss=(?<loss>\S+)'", "printf 'loss=1\\nloss=0.001'"), ("metrics = { jsonl = 'm.jsonl' }", "printf '{\"loss\": 0.001}' > m.jsonl"),
                   ("metrics = { csv = 'm.csv' }", "printf 'step,loss\\n1,0.001' > m.csv"))
        for more, script in sources:
            for last, tiers in (("exit 0", 1), ("kill -9 $$", 0)):
                with self.subTest(more=more, last=last):
                    events = self.run_script(f"{script}; {last}", more, "{ loss = { objective = 0.1 } }", code=0 if tiers else 1)
                    self.assertEqual(sum(e["event"] == "tier_reached" for e in events), tiers)

    def test_files_are_searched_once_more_at_the_end(self) -> None:
        first = "mkdir -p v0 v1; printf 'step,loss\\n1,1\\n' > v0/m.csv; sleep 1.2; "
        for way in ("printf 'step,loss\\n1,1\\n2,0.1\\n' > t; mv t v0/m.csv", "printf 'step,loss\\n2,0.1\\n' > v1/m.csv",
                    "printf '2,0.1\\n' >> v0/m.csv; printf 'step,loss\\n3,1\\n' > v1/m.csv"):
            with self.subTest(way=way):
                events = self.run_script("rm -rf v0 v1; " + first + way, "metrics = { csv = 'v*/m.csv' }", "{ loss = { objective = 0.2 } }")
                self.assertEqual(sum(e["event"] == "tier_reached" for e in events), 1)

    def test_titles_may_be_padded(self) -> None:
        events = self.run_script("printf '\\357\\273\\277   epoch,   box \\n   0,  0.5\\n   1,  0.01\\n' > m.csv", "metrics = { csv = 'm.csv', step = 'epoch', box = 'box' }",
                                 "{ box = { objective = 0.03, direction = 'down' } }")
        self.assertEqual([(e["step"], e["value"]) for e in events if e["event"] == "progress"], [(0, 0.5), (1, 0.01)])

    def test_values_that_become_unreadable_are_named_in_the_run_and_at_its_end(self) -> None:
        script = "echo tps: 149; for i in 1 2 3 4 5 6 7 8 9 10 11; do echo tps: 6,50$i; done; sleep 1.5; echo end"
        events = self.run_script(script, r"log = 'tps: (?<tps>\S+)'", "{ tps = { objective = 9000, direction = 'up' } }")
        sentence = "'log' could not read 11 of 12 values of 'tps', since 'tps' has the text '6,5011'; print numbers without units and separators of thousands"
        self.assertEqual([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "plain"], ["so far, " + sentence])
        self.assertEqual(self.how_it_ended(events), ("finished", sentence))

    def test_long_lines_are_named_once(self) -> None:
        events = self.run_script("for i in 1 2 3; do printf '%05000d loss=1\\n' $i; done; echo loss=0.5", r"log = 'loss=(?<loss>\S+)'", "{ loss = { objective = 0.1 } }")
        self.assertEqual([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "plain"],
                         ["its output has lines over 4096 bytes, which 'log' does not read; print shorter lines"])


class Floods(RunTest):
    """Jobs that write faster than ration can read, or whose lines are as costly as can be."""

    PATTERN = r"log = 'step=(?<step>\d+) loss=(?<loss>\S+)'"
    SKIPPED = "its output came faster than 'log' was matched, and [0-9]+ bytes were skipped; print less, or use simpler patterns"

    def so_far(self) -> list[dict]:
        return self.events() if (self.folder / "log.jsonl").exists() else []

    def warnings(self) -> list[str]:
        return [e["message"] for e in self.so_far() if e["event"] == "warning" and e["subject"] == "flood"]

    def interrupt(self, run) -> dict:
        run.send_signal(signal.SIGINT)
        run.wait(timeout=PATIENCE)
        return next(e for e in self.events() if e["event"] == "job_ended")

    def test_costly_lines_are_named_and_ctrl_c_works(self) -> None:
        script = "import time\nfor _ in range(4000): print('a' * 4000)\nprint('step=1 loss=5')\ntime.sleep(600)"
        self.write(job("flood", [PYTHON, "-c", script], r"log = ['(?:(?:a?){90}){4}b(?<loss>\S+)', 'step=(?<step>\d+) loss=(?<loss>\S+)']"))
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: "'log' skips lines of its output that are too costly to search; use simpler patterns" in self.warnings())
        ended = self.interrupt(run)
        self.assertRegex(self.warnings()[-1], f"^{self.SKIPPED}$")
        self.assertRegex(ended["why"], self.SKIPPED)

    def test_the_newest_lines_are_read_when_the_output_is_too_large(self) -> None:
        script = "import time\nfor _ in range(4500): print('x' * 4000)\nprint('step=2 loss=0.7', flush=True)\ntime.sleep(600)"
        self.write(job("flood", [PYTHON, "-c", script], self.PATTERN))
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: any(e["event"] == "progress" and e["step"] == 2 for e in self.so_far()))
        self.assertRegex(self.interrupt(run)["why"], self.SKIPPED)

    def test_the_last_words_of_a_job_that_wrote_much_are_read(self) -> None:
        write = "for i in range(20000): print(f'step={i} loss=9', 100 * 'x')\nprint('step=20000 loss=0.7')"
        self.write(job("flood", [PYTHON, "-c", write], self.PATTERN))
        self.assertEqual(self.run_jobs("--log", "log.jsonl").returncode, 0)
        self.assertEqual(next(e["step"] for e in self.events() if e["event"] == "job_ended"), 20000)

    def test_rows_that_are_not_read_in_time_are_named(self) -> None:
        write = "with open('m.csv', 'w') as file:\n    file.write('step,loss\\n')\n    for _ in range(60): file.write(''.join(f'{i},9\\n' for i in range(100000)))"
        self.write(job("flood", [PYTHON, "-c", write], "metrics = { csv = 'm.csv' }"))
        self.assertEqual(self.run_jobs("--log", "log.jsonl").returncode, 0)
        ended = next(e for e in self.events() if e["event"] == "job_ended")
        read = sum(e["event"] == "progress" for e in self.events())
        self.assertGreater(read, 0)
        self.assertEqual(read < 6000000, "bytes were skipped; write fewer rows" in ended["why"], (read, ended))


class MetricFiles(RunTest):
    """Jobs whose metrics are in a file. The file of Lightning's CSVLogger has a column that its first rows lack."""

    def run_job(self, script: str, metrics: str, **options) -> list[dict]:
        self.write(job("filed", [PYTHON, "-c", script], f"metrics = {metrics}", **options))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.events()

    def test_a_file_of_lightning_is_followed_to_the_objective(self) -> None:
        (self.folder / "logs" / "version_0").mkdir(parents=True)
        (self.folder / "logs" / "version_0" / "metrics.csv").write_text("step,train_loss\n9,0.01\n")  # of an earlier run
        script = (f"import os, time\nlines = open({str(LOGS / 'lightning-metrics.csv')!r}).readlines()\nos.mkdir('logs/version_1')\n"
                  "for at in range(len(lines)):\n    file = open('logs/version_1/metrics.csv', 'a'); file.write(lines[at]); file.close(); time.sleep(0.1)\n"
                  "time.sleep(2)")
        events = self.run_job(script, "{ csv = 'logs/*/metrics.csv', loss = 'train_loss', val_loss = 'val_loss' }")
        values = [(e["step"], e["metric"], e["value"]) for e in events if e["event"] == "progress"]
        self.assertEqual([(step, metric, round(value, 3)) for step, metric, value in values],
                         [(0, "loss", 0.821), (1, "loss", 0.393), (2, "loss", 0.392), (2, "val_loss", 0.226), (3, "loss", 0.267), (4, "loss", 0.097),
                          (5, "loss", 0.136), (5, "val_loss", 0.086)][:len(values)])
        self.assertEqual([e["tier"] for e in events if e["event"] == "tier_reached"], [1, 2])

    def test_rows_that_a_job_writes_at_once_are_its_own(self) -> None:
        names = [f"quick{number}" for number in range(12)]
        self.write(*(job(name, ["/bin/sh", "-c", f"printf 'step,loss\\n1,0.5\\n' > {name}.csv; exec sleep 1"], more=f"metrics = {{ csv = '{name}.csv' }}")
                     for name in names))
        self.assertEqual(self.run_jobs("--log", "log.jsonl").returncode, 0)
        self.assertEqual(sorted(e["job"] for e in self.events() if e["event"] == "progress"), sorted(names))

    def test_a_wrong_column_is_named_with_those_of_the_file(self) -> None:
        events = self.run_job("file = open('m.csv', 'w'); file.write('step,train_loss\\n1,0.5\\n'); file.close(); import time; time.sleep(2)", "{ csv = 'm.csv' }")
        why = next(e["why"] for e in events if e["event"] == "job_ended")
        self.assertRegex(why, "'metrics' read nothing from m.csv, whose columns are step, train_loss; name a column")

    def test_a_target_without_its_metric_is_named_although_another_column_is_read(self) -> None:
        events = self.run_job("file = open('m.csv', 'w'); file.write('step,val_loss\\n' + 201 * '1,0.5\\n'); file.close(); import time; time.sleep(2)",
                              "{ csv = 'm.csv', val_loss = 'val_loss' }", target="target = { val_acc = { acceptable = 65, objective = 80 } }")
        unread = "'metrics' read no 'val_acc', the metric of the target, from m.csv, whose columns are step, val_loss; name a column for the metric of the target"
        self.assertEqual([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "filed"], ["so far, " + unread])
        self.assertEqual(next(e["why"] for e in events if e["event"] == "job_ended"), unread)

    def test_jobs_that_follow_the_same_file_are_named(self) -> None:
        (self.folder / "own").mkdir()
        same = "metrics = { csv = 'runs/*/m.csv' }"
        self.write(job("a", ["/bin/true"], same), job("b", ["/bin/true"], f'{same}\ndirectory = "./"'), job("c", ["/bin/true"], f'{same}\ndirectory = "own"'))
        sentence = ("it follows the same 'metrics' as 'a', 'runs/*/m.csv', so each job may be judged by the metrics of the other; "
                    "give each job a file or a separate directory")
        planned = self.run_jobs("--dry-run")
        self.assertEqual((planned.returncode, planned.stderr), (0, f"ration: warning: b: {sentence}\n"))
        self.run_jobs("--log", "log.jsonl")
        self.assertEqual([(e["subject"], e["message"]) for e in self.events() if e["event"] == "warning" and "judged" in e["message"]], [("b", sentence)])

    def test_a_missing_file_is_named_at_the_end(self) -> None:
        why = next(e["why"] for e in self.run_job("pass", "{ jsonl = 'x/*.jsonl' }") if e["event"] == "job_ended")
        self.assertEqual(why, "'metrics' found no rows in x/*.jsonl; name the file that the job writes")

    def test_a_pattern_that_leads_to_too_many_folders_is_named(self) -> None:
        (self.folder / "d").mkdir()
        for link in range(10):
            (self.folder / "d" / str(link)).symlink_to(".")
        events = self.run_job("import time; time.sleep(1)", "{ csv = 'd/*/*/*/*/*/*/*/*/m.csv' }")
        sentence = "d/*/*/*/*/*/*/*/*/m.csv: the pattern leads to more than 4096 files and folders; name fewer"
        self.assertEqual([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "filed"], [sentence])

    def test_a_pipe_does_not_stop_the_run(self) -> None:
        events = self.run_job("import os, time; time.sleep(1); os.mkfifo('m.csv'); time.sleep(3)", "{ csv = 'm.csv' }")
        self.assertEqual([e["message"] for e in events if e["event"] == "warning" and e["subject"] == "filed"],
                         ["m.csv: is a pipe; let 'metrics' name a regular file that the job writes"])


if __name__ == "__main__":
    sys.exit(unittest.main())
