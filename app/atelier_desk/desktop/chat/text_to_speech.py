"""Text to speech with the system's programs; nothing is bundled, and nothing leaves the machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QProcess, Signal

from atelier_desk.support.i18n import _, language


@dataclass(frozen=True, slots=True)
class Voice:
    """A program that speaks its standard input; ``hush`` are the arguments that silence it."""

    program: str
    arguments: tuple[str, ...]
    hush: tuple[str, ...] = ()


def voice(platform: str = sys.platform, find: Callable[[str], str | None] = shutil.which) -> Voice | None:
    """The first available voice of this system; None without one."""
    spoken = language()
    known = (
        (Voice("say", ("-f", "-")),)
        if platform == "darwin"
        else (
            # speech-dispatcher speaks in its own process: ending ours does not silence it.
            Voice("spd-say", ("--pipe-mode", "--wait", "--language", spoken), ("--cancel",)),
            Voice("espeak-ng", ("-v", spoken, "--stdin")),
            Voice("espeak", ("-v", spoken, "--stdin")),
        )
    )
    return next((each for each in known if find(each.program)), None)


def no_voice_words() -> str:
    """Why reading aloud is not available, and what to install."""
    if sys.platform.startswith("linux"):
        return _("No voice is installed. Install speech-dispatcher or espeak-ng to have messages read aloud.")
    return _("No text-to-speech voice was found on this computer.")


class Speaker(QObject):
    """Reads one text at a time.

    Signals:
        changed: reading started or ended; the key of the current text, empty for none.
    """

    changed = Signal(str)

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._voice: Voice | None = None
        self.key = ""

    @staticmethod
    def available() -> bool:
        return voice() is not None

    def toggle(self, key: str, text: str) -> None:
        """Read ``text``, or stop if it is being read."""
        again = key == self.key
        self.stop()
        if not again:
            self._start(key, text)

    def _start(self, key: str, text: str) -> None:
        self._voice = voice()
        if self._voice is None or not text.strip():
            return
        process = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.setStandardOutputFile(QProcess.nullDevice())
        process.finished.connect(lambda *_: self._over(process))
        process.errorOccurred.connect(lambda *_: self._over(process))
        self._process, self.key = process, key
        process.start(self._voice.program, list(self._voice.arguments))
        process.write(text.encode())
        process.closeWriteChannel()
        self.changed.emit(key)

    def stop(self) -> None:
        """Stop reading at once."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._voice is not None and self._voice.hush:
            QProcess.startDetached(self._voice.program, list(self._voice.hush))
        process.kill()
        process.waitForFinished(500)
        process.deleteLater()
        self.key = ""
        self.changed.emit("")

    def _over(self, process: QProcess) -> None:
        if process is self._process:
            self._process, self.key = None, ""
            process.deleteLater()
            self.changed.emit("")
