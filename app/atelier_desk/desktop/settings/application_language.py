"""Change the language of the running window: our catalogue, Qt's own, and all texts of widgets."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.support.i18n import language, set_language

_installed: list[QTranslator] = []


def switch_language(code: str) -> str:
    """``system``, ``en`` or ``fr``; returns the effective language.

    Bound texts are updated, and widgets get ``LanguageChange``.
    """
    now = set_language(code)
    application = QApplication.instance()
    if application is None:
        return now
    while _installed:
        QCoreApplication.removeTranslator(_installed.pop())
    translator = QTranslator(application)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(f"qtbase_{now}", folder):
        _installed.append(translator)
        QCoreApplication.installTranslator(translator)
    QLocale.setDefault(QLocale(now))
    refresh_texts()
    QCoreApplication.sendEvent(application, QEvent(QEvent.Type.LanguageChange))
    return language()
