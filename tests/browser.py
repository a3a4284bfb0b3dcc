"""A headless Chromium for tests of pages, driven by its DevTools protocol."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import websocket

# FWLASSO_CHROMIUM names another program; without a browser the tests of pages are skipped.
CHROMIUM = os.environ.get("FWLASSO_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
_PATIENCE = 60.0  # seconds until an answer is given up
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # in a container the sandbox needs rights that root does not have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
_KEYS = {
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Escape": 27, "Tab": 9,
    "Enter": 13, " ": 32,
}  # fmt: skip


class Browser:
    """One page of a browser of its own; what it says on the console and asks of the network is kept."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._process = subprocess.Popen(
            [CHROMIUM, *_SWITCHES, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._socket = self._connect()
        except BaseException:
            self._end()
            raise
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.downloads = folder / "downloads"
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads), eventsEnabled=True)

    def _connect(self) -> websocket.WebSocket:
        """Find the port in the file that the browser writes, and the page by the browser's own word."""
        file = self.folder / "DevToolsActivePort"
        port, address = self._until(lambda: file.exists() and file.read_text().split(), "a port")
        socket = websocket.create_connection(f"ws://127.0.0.1:{port}{address}", timeout=_PATIENCE)
        self._socket, self._session = socket, None
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        return socket

    def close(self) -> None:
        self._socket.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait()

    def _until(self, condition: Any, what: str) -> Any:
        """Wait for something to come true."""
        end = time.monotonic() + _PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, f"waited in vain for {what}"
            assert self._process.poll() is None, "the browser has ended"
            time.sleep(0.02)
        return found

    def send(self, method: str, **parameters: Any) -> Any:
        """Ask the browser for something, and return its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message if self._session is None else {**message, "sessionId": self._session}))
        while (answer := json.loads(self._socket.recv())).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def wait_for(self, method: str) -> dict[str, Any]:
        """Return the parameters of the next event of a name."""
        while True:
            for k, event in enumerate(self.events):
                if event["method"] == method:
                    return self.events.pop(k)["params"]
            self.events.append(json.loads(self._socket.recv()))

    def open(self, file: Path) -> None:
        self.events.clear()
        self.send("Page.navigate", url=file.as_uri())
        self.wait_for("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """Return the text of an element as it is shown."""
        found = f"document.querySelector({selector!r})"
        return self.run(f"{found}.innerText ?? {found}.textContent")  # drawings have no innerText

    def rows(self, selector: str) -> list[list[str]]:
        """Return the cells of the body of a table."""
        rows = f"document.querySelector({selector!r}).tBodies[0].rows"
        return self.run(f"[...{rows}].map((row) => [...row.cells].map((cell) => cell.textContent))")

    def place(self, selector: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """Return a place within an element, which is scrolled into view."""
        left, top, width, height = self.run(
            f"(() => {{ const found = document.querySelector({selector!r}); found.scrollIntoView({{block: 'center'}});"
            "const box = found.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()"
        )
        return left + across * width, top + down * height

    def hover(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        x, y = self.place(selector, across, down)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        x, y = self.place(selector, across, down)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, *keys: str) -> None:
        for key in keys:
            told = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": _KEYS[key]}
            text = {"Enter": "\r", " ": " "}.get(key)
            self.send("Input.dispatchKeyEvent", type="keyDown", **told, **({"text": text} if text else {}))
            self.send("Input.dispatchKeyEvent", type="keyUp", **told)

    def focus(self, selector: str) -> None:
        """Focus an element as the keyboard does, so that it is seen to have the focus."""
        self.run(f"document.querySelector({selector!r}).focus({{focusVisible: true}})")

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if mobile else 1, "mobile": mobile}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn what it was told: two frames."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def prefer(self, scheme: str, media: str = "") -> None:
        """Set the colour scheme, light or dark, and the medium, such as print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def downloaded(self) -> tuple[str, str]:
        """Return name and text of the next file that the page has given."""
        name = self.wait_for("Browser.downloadWillBegin")["suggestedFilename"]
        while self.wait_for("Browser.downloadProgress")["state"] != "completed":
            pass
        file = self.downloads / name
        text = file.read_bytes().decode()
        file.unlink()
        return name, text

    def complaints(self) -> list[dict[str, Any]]:
        """Return errors and warnings of the console so far, and exceptions nobody caught."""
        self.run("0")
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Return the addresses the page has asked for."""
        asked = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["request"]["url"] for event in asked]

    def screenshot(self, whole: bool = False) -> bytes:
        """Return a picture of what is seen, or of the whole page, as PNG."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])
