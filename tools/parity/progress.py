"""A progress bar on a terminal, nothing elsewhere."""
import os
import shutil
import sys
import time

BAR_COLUMNS = 20
INTERVAL = 0.1


class Progress:
    def __init__(self, label, total, stream=None):
        self._stream = stream or sys.stderr
        self._label, self._total = label, total
        self._enabled = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start = self._drawn = time.monotonic()
        self._is_drawn = False

    def update(self, done, note=""):
        now = time.monotonic()
        if not self._enabled or (now - self._drawn < INTERVAL and done != self._total):
            return
        self._drawn, self._is_drawn = now, True
        filled = BAR_COLUMNS * min(done, self._total) // max(1, self._total)
        left = (now - self._start) / max(1, done) * (self._total - done)
        text = f"{self._label} {done}/{self._total} [{'#' * filled}{'.' * (BAR_COLUMNS - filled)}]  {left:.0f} s left  {note}"
        self._stream.write("\r" + text[: shutil.get_terminal_size().columns - 1] + "\x1b[K")
        self._stream.flush()

    def clear(self):
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False
