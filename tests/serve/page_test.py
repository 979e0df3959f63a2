# SPDX-License-Identifier: BSL-1.0
"""The page of the service in headless Chromium: its content and its actions, and attacks by text of jobs and by other sites.

RATION_PICTURES: a folder for pictures of the page, for a look at them and for the documentation."""
import functools
import http.client
import http.server
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest

from access_test import TOKEN, ListeningTest
from chromium import BROWSER, Chromium
from support import JOB, PATIENCE, ROOT, Connection

SKIPPED = 77
HOSTILE = """</script><img src=x onerror="window.broken=1"><script>window.broken=1</script>'"&lt;"""
TRAINER = f"""
import sys, time
sys.path.insert(0, {str(ROOT / "python")!r})
from ration import progress
with progress.open() as job:
    job.hello()
    job.phase("train")
    for step in range(1, 4000):
        job.step(step, float(sys.argv[1]) + 2 / (1 + step * float(sys.argv[2])))
        until = time.process_time() + 0.03
        while time.process_time() < until: pass
        time.sleep(0.03)
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Prints nothing."""


class PageTest(ListeningTest):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.browser = Chromium(pathlib.Path(folder.name))
        cls.addClassCleanup(cls.browser.close)

    def setUp(self) -> None:
        super().setUp()
        self.browser.resize(1200, 900)
        self.browser.open("about:blank")
        self.browser.events.clear()

    def open(self) -> None:
        self.browser.open(f"{self.origin}/#token={TOKEN}")
        self.until("!document.getElementById('jobs').hidden")

    def until(self, condition: str) -> None:
        self.browser.wait_for(condition)

    def until_text(self, where: str, text: str) -> None:
        self.until(f"document.getElementById({json.dumps(where)}).innerText.includes({json.dumps(text)})")

    def click(self, label: str) -> None:
        self.browser.evaluate(f"[...document.querySelectorAll('button')].find(one => (one.getAttribute('aria-label') ?? one.textContent) === {json.dumps(label)}).click()")

    def fill_in(self, **fields: str) -> None:
        for name, value in fields.items():
            self.browser.evaluate(f"document.querySelector('#submit [name={name}]').value = {json.dumps(value)}; 0")

    def check_quiet(self) -> None:
        """Only the service was asked, and nothing went wrong."""
        self.assertEqual(self.browser.faults(), [])
        self.assertTrue(all(url.startswith((self.origin + "/", "about:", "data:")) for url in self.browser.requests()), self.browser.requests())


class Shown(PageTest):
    def test_running_queued_and_ended_jobs_at_two_widths(self) -> None:
        self.kill()
        self.start("--max-running", "2", "--policy", "tradl")
        (self.folder / "train.py").write_text(TRAINER)
        for name, tenant, floor, speed in (("vae", "vision", "0.2", "0.02"), ("cnn", "speech", "0.4", "0.3")):
            (self.folder / "job.toml").write_text(f'[[job]]\nname = "{name}"\ntenant = "{tenant}"\ncommand = ["{sys.executable}", "train.py", "{floor}", "{speed}"]\n'
                                                  "target = { loss = { acceptable = 0.9, objective = 0.1 } }\n")
            self.submit("job.toml")
        queued = self.submit("--name", "queued", "--priority", "3", "--", "sleep", "60")
        later = self.submit("--name", "later", "--after", queued, "--", "true")
        self.open()
        self.until_text("running", "Acceptable 0.9 \u2713")
        self.until_text("queue", "after job 3")
        self.click(queued)
        self.until_text("details", "waits, since at most 2 jobs run at once: no job is ahead; its earliest start is unknown")
        self.click("Close")
        self.until_text("tenants", "vision")
        self.until("document.querySelectorAll('#running svg polyline').length === 2")
        self.until_text("running", "Last change: ")
        self.assertEqual(self.browser.evaluate("location.hash"), "")
        self.click("Cancel " + later)
        self.until_text("ended", "HALTED")
        self.assertEqual(self.job(later)["stage"], "HALTED")
        if "RATION_PICTURES" in os.environ:
            time.sleep(15)  # so that the curves have a shape
        grounds = []
        for width, height, dark in ((1200, 900, False), (390, 844, False), (1200, 900, True), (390, 844, True)):
            self.browser.resize(width, height, dark)
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, f"the page is wider than {width} pixels")
            grounds.append(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
            self.assertNotRegex(self.browser.evaluate("document.body.innerText"), r"undefined|NaN|Infinity|\[object|null|\d{7}")
            if "RATION_PICTURES" in os.environ:
                self.browser.picture(pathlib.Path(os.environ["RATION_PICTURES"]) / f"serve-{width}-{'dark' if dark else 'light'}.png")
        self.assertEqual([grounds[0], grounds[2]], [grounds[1], grounds[3]])
        self.assertNotEqual(grounds[0], grounds[2])
        self.check_quiet()
        self.click("Cancel vae-1")
        self.until_text("ended", "vae-1")
        self.until_text("running", "queued-3")

    def test_the_share_of_a_tenant_is_beside_its_weight(self) -> None:
        self.kill()
        tenants = (("lab", "", 1), ("anna", "lab", 3), ("ben", "lab", 1), ("idle", "lab", 4), ("guest", "", 0.5))
        (self.folder / "service.toml").write_text("".join(f'[[tenant]]\nname = "{name}"\nweight = {weight}\n' + (f'parent = "{parent}"\n' if parent else "")
                                                          for name, parent, weight in tenants))
        self.start("--config", str(self.folder / "service.toml"), "--cpus", "2")
        for tenant in ("anna", "ben", "guest"):
            (self.folder / "job.toml").write_text(JOB.replace('["true"]', '["sleep", "60"]') + f'tenant = "{tenant}"\n')
            self.submit("job.toml")
        self.open()
        self.until("document.getElementById('tenants').innerText.match(/running/g)?.length === 3")
        shown = self.browser.evaluate("document.getElementById('tenants').innerText")
        for name, weight in (("anna", "weight 3 (75 %)"), ("ben", "weight 1 (25 %)"), ("guest", "weight 0.5 (100 %)")):
            self.assertRegex(shown, rf"{name}\s+[\d.]+ cores \(\d+ %\), {weight.replace('(', '[(]').replace(')', '[)]')}")
        self.check_quiet()

    def test_a_job_is_submitted(self) -> None:
        self.open()
        self.fill_in(command="echo \"it's $((1 + 1))\" > out", directory=str(self.folder), name="form", retries="1", minutes="1.5", priority="-2", tenant="lab")
        self.click("Submit")
        self.until_text("submit-result", "form-1 is in the queue")
        self.until_text("ended", "COMPLETED")
        self.assertEqual((self.folder / "out").read_text(), "it's 2\n")
        job = self.job("form-1")
        self.assertEqual([job[name] for name in ("tenant", "priority", "retries", "time_limit_ms")], ["lab", -2, 1, 90000])
        self.check_quiet()

    def test_a_job_is_paused_and_resumed(self) -> None:
        label = self.submit("--name", "runs", "--", "sh", "-c", "echo x >> launches; sleep 60")
        self.open()
        self.until_text("running", label)
        self.click("Pause " + label)
        self.until_text("queue", "paused")
        self.assertTrue(self.job(label)["paused"])
        self.click("Resume " + label)
        self.until_text("running", label)
        self.wait_for(lambda: (self.folder / "launches").read_text() == "x\nx\n")
        self.assertFalse(self.job(label)["paused"])
        self.ration("pause", label)  # another client
        self.until_text("queue", "Resume")
        self.check_quiet()

    def test_the_page_follows_a_restart(self) -> None:
        self.open()
        self.until_text("connection", "live")
        self.kill()
        self.until_text("connection", "down")
        self.start()
        label = self.submit("--", "true")
        self.until_text("ended", label)
        self.until_text("connection", "live")


class Safe(PageTest):
    def test_who_has_no_token_sees_no_job(self) -> None:
        label = self.submit("--name", "secret", "--", "true")
        self.browser.open(self.origin)
        self.until("!document.getElementById('login').hidden")
        for token, condition in (("wrong" * 8, "document.getElementById('login-error').innerText.includes('token')"),
                                 ("\u20ac" * 40, "document.getElementById('login-error').innerText === 'the token has characters that no token has; copy it from the token file'"), (TOKEN, "!document.getElementById('jobs').hidden")):
            self.assertNotIn("secret", self.browser.evaluate("document.body.innerText"))
            self.browser.evaluate(f"document.getElementById('token').value = {json.dumps(token)}; 0")
            self.click("Open")
            self.until(condition)
        self.until_text("ended", label)
        self.assertEqual(self.browser.evaluate("document.cookie"), "")

    def test_text_of_jobs_is_no_markup(self) -> None:
        hostile = self.folder / HOSTILE.replace("/", "\u2215")
        hostile.mkdir()
        body = json.dumps({"key": "k", "directory": str(hostile), "definition": f"[[job]]\nname = \"a\"\ncommand = [\"echo\", {json.dumps(HOSTILE)}]\ntarget = {{ loss = {{ objective = 0 }} }}\n"})
        self.assertEqual(self.over_tcp("POST", body=body)[0], 201)
        self.open()
        self.until_text("ended", "a-1")
        self.click("a-1")
        self.until("document.getElementById('details').open")
        text = self.browser.evaluate("document.getElementById('details').textContent")
        self.assertIn(str(hostile), text)
        self.assertIn("<img src=x onerror=", text)
        self.click("Close")
        self.fill_in(command="true", directory="/tmp", name="<script>window.broken=1</script>")
        self.click("Submit")
        self.until_text("submit-result", "<script>window.broken")
        self.assertEqual(self.browser.evaluate("[window.broken ?? 0, document.images.length, document.scripts.length]"), [0, 0, 1])
        # The policy of the page holds also where a text would become markup.
        self.browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=data:, onerror=\"window.broken=1\">'); new Promise(done => setTimeout(done, 300))")
        self.assertEqual(self.browser.evaluate("window.broken ?? 0"), 0)

    def test_another_site_can_neither_read_nor_submit_nor_frame(self) -> None:
        folder = self.folder / "site"
        folder.mkdir()
        (folder / "index.html").write_text(f'<p>another site</p><iframe src="{self.origin}/"></iframe>')
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.browser.open(f"http://127.0.0.1:{server.server_address[1]}/")
        self.until("document.body.innerText.includes('another site')")
        body = json.dumps({"key": "k", "directory": "/tmp", "definition": JOB})
        sent = "fetch({}, {{method: 'POST', mode: 'no-cors', body: {}}}).then(answer => answer.type)".format(json.dumps(self.origin + "/v1/jobs"), json.dumps(body))
        self.assertEqual(self.browser.evaluate(sent), "opaque")
        read = "fetch({}, {{headers: {{Authorization: {}}}}}).then(() => 'read', () => 'refused')".format(json.dumps(self.origin + "/v1/jobs"), json.dumps("Bearer " + TOKEN))
        self.assertEqual(self.browser.evaluate(read), "refused")  # also with the token
        self.assertEqual(self.over_tcp()[1]["jobs"], [])
        self.assertEqual(self.browser.evaluate("frames.length && (() => { try { return frames[0].document.body.innerText } catch { return 'closed' } })()"), "closed")

    def test_only_the_page_itself_needs_no_token(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        for target in ("/", "/page.js", "/page.css", "/api.js"):
            connection.request("GET", target)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertGreater(len(answer.read()), 500)
            for name, text in (("Content-Security-Policy", "default-src 'none'; script-src 'self'"), ("Content-Security-Policy", "frame-ancestors 'none'"), ("X-Content-Type-Options", "nosniff"),
                               ("Referrer-Policy", "no-referrer")):
                self.assertIn(text, answer.headers[name])
        for method, target in (("POST", "/"), ("GET", "/?"), ("GET", "/page.js/"), ("GET", "//"), ("GET", "/index.html"), ("GET", "/v1/jobs")):
            self.assertEqual(self.over_tcp(method, target, token=None)[0], 401)
        self.assertEqual(self.over_tcp(path="/", Host="evil.example")[0], 403)
        local = Connection(str(self.state / "socket"))
        local.request("GET", "/")
        self.assertEqual(local.getresponse().status, 404)
        local.close()


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium here; cmake/packages.sh browser installs it")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
