"""What is here: headless Chromium, driven by its DevTools protocol over a pipe."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

# Chromium reads commands from file 3 and answers on file 4; either may be taken.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in a browser of its own; `complaints` collects what its console says."""

    def __init__(self, profile: Path, timeout: float = 60.0):
        self.timeout = timeout
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._rest = b""
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), CHROMIUM]
        self._process = subprocess.Popen(
            [*command, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        os.close(self._in)
        os.close(self._out)

    def open(self, page: Path, *, width=1200, height=900, dark=False, phone=False) -> None:
        """Load a page and wait until it is there."""
        wishes = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce",  # a click must not chase what is still moving
        }
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self._call("Emulation.setEmulatedMedia", features=features)
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self._call("Page.navigate", url=page.as_uri())
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            there = f"location.href === {json.dumps(page.as_uri())}"
            if self.run(f"{there} && document.readyState === 'complete'"):
                return
            time.sleep(0.05)
        raise TimeoutError(f"{page} was not loaded within {self.timeout} s")

    def run(self, script: str):
        """Evaluate an expression on the page and return its value."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a user without a mouse does."""
        for key in keys:
            shared = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            text = {"text": "\r"} if key == "Enter" else {}
            self._call("Input.dispatchKeyEvent", type="keyDown", **shared, **text)
            self._call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element."""
        where = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=where[0],
                y=where[1],
                button="left",
                clickCount=1,
            )

    def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def print_to_pdf(self) -> bytes:
        return base64.b64decode(self._call("Page.printToPDF")["data"])

    def _call(self, method: str, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict) -> None:
        told = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif event.get("method") == "Runtime.consoleAPICalled":
            self.complaints.append(str(told["args"]))
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def _read(self) -> dict:
        end = time.monotonic() + self.timeout
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium gave no answer within {self.timeout} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
