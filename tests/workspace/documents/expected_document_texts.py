"""Texts of the sample documents."""

from __future__ import annotations

SAID = {
    "a.docx": (
        "# Contrat\n\n# Article premier\n\nLe café est prêt, voir [ici](https://a.example/)\n\n1. first\n2. "
        "second\n- point\n\n"
        "kept [^comment-0]inserted\n\n## Prix\n\n| wide |  | b\\|c |\n| --- | --- | --- |\n| 1 |  |  "
        "|\n\n[^comment-0]: à vérifier\n\n"
        "[Header: Dossier 7]"
    ),
    "a.xlsx": (
        "## Sheet: Ventes\n\n| Mois | Total |\n| --- | --- |\n| mois 1 | 1.5 |\n| somme | =SUM(B2:B9) |\n\n## Sheet: "
        "Notes (hidden)\n\n"
        "|  |  | été |\n| --- | --- | --- |"
    ),
    "a.pptx": (
        "## Slide 1: Bilan\n\n- premier point\n\n### Notes\n\ndire bonjour\n\n## Slide 2\n\n| a | b |\n| --- | --- "
        "|\n| c | d |\n\n"
        "|  | 2026 |\n| --- | --- |\n| Nord | 1.5 |\n| Sud | 2 |"
    ),
    "a.odt": "## Titre\n\nLe café [ici](https://a.example/)\n\n- un\n\n| a |\n| --- |",
    "a.ods": "## Sheet: Ventes\n\n| Mois | x | x |\n| --- | --- | --- |\n| mai |  |  |\n| mai |  |  |",
    "a.odp": "## Slide 1: Bilan\n\nbonjour\n\n### Notes\n\nlentement",
    "a.rtf": "Le café est prêt\n\nnext\n\nend",
    "a.epub": "Title: Un livre\nCreator: Ada\n\n# Été\n\npremier\n\nsecond",
    "a.eml": "From: Ada <a@example.org>\nSubject: Réunion\n\nlettre été",
}
