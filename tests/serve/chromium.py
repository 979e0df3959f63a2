# SPDX-License-Identifier: BSL-1.0
"""A page in headless Chromium, driven by the DevTools protocol over a pipe (https://chromedevtools.github.io/devtools-protocol/)."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60


class Chromium:
    def __init__(self, folder: pathlib.Path) -> None:
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (reads, writes)]  # 3 and 4 may be in use here
        self._process = subprocess.Popen([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile", "about:blank"],
                                         pass_fds=(3, 4), preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (reads, writes, *ends):
            os.close(end)
        self._text, self._number, self._session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait(PATIENCE)

    def call(self, method: str, **parameters: object) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def _next(self) -> dict:
        while b"\0" not in self._text:
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser gave no answer")
            some = os.read(self._from, 1 << 20)
            if not some:
                raise RuntimeError("the browser ended")
            self._text += some
        text, self._text = self._text.split(b"\0", 1)
        return json.loads(text)

    def evaluate(self, script: str) -> object:
        """The value of an expression, or of its promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"]))
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """A condition that fails is not there yet, as while the page loads."""
        until = time.monotonic() + PATIENCE
        while not self.evaluate(f"(() => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }})()"):
            if time.monotonic() > until:
                raise AssertionError(f"it did not happen: {condition}; the page shows: {self.evaluate('document.body?.innerText')}")
            time.sleep(0.05)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]))

    def requests(self) -> set[str]:
        """The addresses that the page has asked for."""
        return {event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"}

    def faults(self) -> list[str]:
        """Messages of the console, and exceptions."""
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]
