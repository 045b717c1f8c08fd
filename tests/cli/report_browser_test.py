#!/usr/bin/env python3
"""Opens report.html in a headless Chromium and uses it as a reader would: widths from 360 to 1600 pixels, light and
dark, keyboard only, no network. usage: report_browser_test.py CULPRIT_PROGRAM [--screenshots FOLDER]

Needs Chromium (Debian: chromium). Without one it ends with 77 and says so, and with CI=true with 1: there nothing is
skipped, so it is not among CTest's tests.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

WIDTHS = (360, 768, 1600)
DEADLINE = 60.0  # seconds, of any one answer of the browser


class Browser:
    """Chromium over its debugging pipe: JSON messages that end in a zero byte, on descriptors 3 and 4."""

    def __init__(self, program, profile):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_browser, from_browser), "sh", program,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self.into, False)
        self.buffer = b""
        self.number = 0
        self.events = []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def read(self):
        end = time.monotonic() + DEADLINE
        while b"\0" not in self.buffer:
            if time.monotonic() > end:
                raise TimeoutError("the browser did not answer in %d s" % DEADLINE)
            try:
                part = os.read(self.into, 1 << 16)
                if not part:
                    raise EOFError("the browser ended")
                self.buffer += part
            except BlockingIOError:
                time.sleep(0.005)
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, params=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self.read())

    def value(self, expression):
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, address, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.call("Page.navigate", {"url": address})
        self.wait_for("Page.loadEventFired")

    def press(self, key):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        params = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if key == "Enter":
            params["text"] = "\r"
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **params})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **params})

    def screenshot(self, path):
        height = min(self.value("document.documentElement.scrollHeight"), 12000)
        width = self.value("innerWidth")
        shot = self.call("Page.captureScreenshot", {"captureBeyondViewport": True,
                                                    "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        with open(path, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)


failures = []


def check(name, holds, seen=""):
    print(("ok " if holds else "FAILED ") + name + ("" if holds else ": " + str(seen)))
    if not holds:
        failures.append(name)


def contrast(one, two):
    """WCAG 2 contrast of two rgb(...) colours."""
    def luminance(text):
        parts = [float(part) / 255 for part in re.findall(r"[\d.]+", text)[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def look_at(browser, address, name, shots):
    for width in WIDTHS:
        for dark in (False, True):
            where = "%s, %d px, %s" % (name, width, "dark" if dark else "light")
            browser.open(address, width, 900, dark)
            wide = browser.value("[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && "
                                 "!e.closest('.scroll, .sprite, .tl-track, .skip')).map((e) => e.tagName + '.' + e.className).slice(0, 5)")
            check("nothing sticks out at " + where, browser.value("innerWidth") == width and browser.value("document.documentElement.scrollWidth") <= width and not wide, wide)
            colours = browser.value("[...document.querySelectorAll('.c, .badge, .muted, p, th, .tl-track button')].slice(0, 400).map((e) => {"
                                    "let b = e; while (b && /rgba\\(0, 0, 0, 0\\)/.test(getComputedStyle(b).backgroundColor)) b = b.parentElement;"
                                    "return [getComputedStyle(e).color, b ? getComputedStyle(b).backgroundColor : 'rgb(255,255,255)', e.className]; })")
            poor = [c for c in colours if contrast(c[0], c[1]) < 4.5]
            check("text stands out at " + where, not poor, poor[:3])
            if shots:
                browser.screenshot(os.path.join(shots, "%s_%d_%s.png" % (name, width, "dark" if dark else "light")))


def use(browser, address, report):
    browser.open(address, 1280, 900, False)
    job = report["jobs"][0]
    check("every cell is a button", browser.value("document.querySelectorAll('button.c').length") == sum(len(j["cells"]) for j in report["jobs"]))
    panel = "document.querySelector('.panel').innerText"
    first = report["minimal_combinations"][0]
    if first.get("job", job["title"]) == job["title"]:
        check("the worst finding's evidence is open", first["label"] in browser.value(panel), browser.value(panel))
    base = next(i for i, cell in enumerate(job["cells"]) if cell["label"] == "base")
    browser.value("document.querySelector('[data-cell=\"0.%d\"]').click()" % base)
    check("a click shows a cell's evidence", "\nbase\n" in browser.value(panel), browser.value(panel))
    # Keyboard only, from the top of the page.
    browser.open(address, 1280, 900, False)
    for _ in range(40):
        browser.press("Tab")
        if browser.value("document.activeElement.matches('button.c')"):
            break
    check("Tab reaches the matrix", browser.value("document.activeElement.matches('button.c')"))
    before = browser.value("document.activeElement.dataset.cell")
    for key in ("ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowDown"):
        browser.press(key)
    after = browser.value("document.activeElement.dataset.cell")
    check("arrows move in the matrix", after != before, after)
    browser.press("Enter")
    label = job["cells"][int(after.split(".")[1])]["label"]
    check("Enter shows the cell's evidence", label in browser.value(panel), browser.value(panel))
    check("one cell a matrix is a stop of Tab", browser.value("document.querySelectorAll('table.matrix button[tabindex=\"0\"]').length") == len(report["jobs"]))
    if browser.value("document.querySelectorAll('.tl-track button').length"):
        browser.value("document.querySelector('.tl-track button').focus()")
        browser.press("ArrowRight")
        check("a phase of the timeline tells what ran", "micro-batch" in browser.value("document.activeElement.closest('.tl').nextElementSibling.textContent"))
    check("text is text: no element of a hostile name", browser.value("document.querySelectorAll('img').length") == 0 and not browser.value("window.hacked"))
    check("no handler stands in the markup", browser.value("[...document.querySelectorAll('*')].every((e) => e.getAttributeNames().every((n) => !n.startsWith('on')))"))


def no_trouble(browser):
    bad = [e for e in browser.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded") or
           (e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning"))]
    check("no errors in the console", not bad, bad[:2])
    sent = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    outside = [url for url in sent if not url.startswith(("file:", "data:", "about:"))]
    check("nothing is fetched", not outside, outside[:3])


def main():
    program = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)
    if not program:
        print("report_browser_test.py: SKIPPED: no Chromium here (Debian: apt-get install chromium)", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else 77
    culprit = os.path.abspath(sys.argv[1])
    shots = os.path.abspath(sys.argv[3]) if sys.argv[2:3] == ["--screenshots"] else ""
    if shots:
        os.makedirs(shots, exist_ok=True)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        hostile = os.path.join(work, "<img src=x onerror=window.hacked=1>.sh")
        shutil.copy(os.path.join(root, "tests/data/launch/issue_59290.sh"), hostile)
        runs = {"main": ["--tp", "2", "--pp", "2", "--recompute"], "script": ["--from", hostile], "qlora": ["skip_identity_qlora"],
                "released": ["released_tensor_read"]}
        for name, flags in runs.items():
            subprocess.run([culprit, "run", *flags, "--out", os.path.join(work, name)], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(program, os.path.join(work, "profile"))
        try:
            for name in runs:
                address = "file://" + os.path.join(work, name, "report.html")
                with open(os.path.join(work, name, "report.json"), encoding="utf-8") as file:
                    report = json.load(file)
                look_at(browser, address, name, shots)
                use(browser, address, report)
            no_trouble(browser)
        finally:
            browser.close()
    return 1 if failures else 0


sys.exit(main())
