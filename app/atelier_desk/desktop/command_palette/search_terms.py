"""Search terms of the command palette besides the labels: synonyms in English and in French.

Users search in the language they think in, which may not be the window's; both find a command, whichever is shown.
"""

from __future__ import annotations

from atelier_desk.support.i18n import in_every_language

WORDS = {
    "new-workflow": "create start conversation chat créer démarrer nouvelle discussion tâche",
    "rename-workflow": "title name call titre nommer intituler",
    "pin-workflow": "favourite keep on top favori garder en haut",
    "duplicate-workflow": "copy clone copier cloner doubler",
    "import-workflow": "load open chats conversations charger importer discussions",
    "export-workflow": "save download share enregistrer sauvegarder télécharger partager",
    "title-workflow": "name rename nommer renommer",
    "move-workflow": "directory group sort dossier ranger classer groupe",
    "archive-workflow": "put away hide unarchive ranger cacher désarchiver sortir",
    "workflow-settings": "options preferences limit cost options préférences limite coût consignes accord",
    "choose-profile": "allow permissions rights autoriser permettre droits accord refuser",
    "grant-folder": "open add access ouvrir ajouter accès répertoire projet fichiers",
    "delete-workflow": "remove trash bin effacer retirer corbeille",
    "undo-delete": "back recover rétablir récupérer revenir défaire",
    "recently-deleted": "bin trash restore recover bring back undo "
    "corbeille restaurer récupérer rétablir supprimés effacés",
    "first-steps": (
        "start set up provider key welcome begin démarrer commencer premiers pas installer fournisseur clé bienvenue"
    ),
    "find": "look search text chercher trouver texte rechercher",
    "search-everywhere": "find look all chercher trouver partout tout",
    "pinned-messages": "favourites bookmarks favoris signets marque-pages",
    "stop-run": "cancel abort end halt annuler interrompre arrêter terminer",
    "pause-run": "hold suspend wait halt suspendre attendre interrompre pauser",
    "step-mode": "pause single stepping débogage pas à pas étape",
    "next-step": "forward continue avancer continuer pas étape",
    "run-on": "resume go on play reprendre poursuivre lancer",
    "replay-run": "play again review history rewind rejouer revoir relire historique revenir bifurquer copie curseur",
    "focus-composer": "type prompt ask send écrire saisir demander envoyer",
    "go-to-waiting": (
        "answer approve accept reject répondre approuver autoriser accepter refuser permettre décider accord attente"
    ),
    "next-part": "jump switch passer aller clavier volet",
    "previous-part": "jump switch back passer aller clavier volet",
    "attach-pictures": "add upload image photo pdf ajouter joindre envoyer fichier image pièce jointe",
    "attach-folder": "add upload directory ajouter joindre répertoire pièce jointe",
    "quote-selection": "cite reply citer répondre citation",
    "jump-to-latest": "end bottom scroll down fin bas descendre défiler dernier",
    "toggle-sidebar": "hide left column list cacher masquer gauche colonne liste barre latérale",
    "toggle-panes": "hide right column rail drawer cacher masquer droite colonne tiroir volets",
    "reset-layout": "restore default columns arrangement défaut disposition fenêtre",
    "theme-light": "bright white day colours clair blanc jour couleurs apparence",
    "theme-dark": "black night mode colours sombre noir nuit couleurs apparence",
    "theme-system": "automatic colours automatique couleurs apparence",
    "larger-text": "zoom in font scale bigger agrandir police taille zoom",
    "smaller-text": "zoom out font scale réduire rapetisser police taille zoom",
    "normal-text": "zoom reset font scale 100 police taille zoom",
    "quick-ask": "ask small window question rapide demander petite fenêtre",
    "settings": "options preferences configuration options préférences configurer paramètres",
    "language-french": "langue traduire translate",
    "language-english": "langue traduire translate",
    "projects": "code graph sources repository library folder documents graphe sources dépôt dossier documents",
    "search-projects": "code function class find source fonction classe chercher trouver",
    "user-guide": "manual documentation how to instructions aide manuel mode d’emploi comment faire",
    "quit": "exit close leave end fermer sortir terminer",
    "message-copy": "clipboard markdown table presse-papiers tableau",
    "message-export": "save download word pdf html document enregistrer télécharger",
    "message-print": "paper printer papier imprimante",
    "print-workflow": "paper printer papier imprimante",
    "message-copy-text": "clipboard presse-papiers",
    "message-quote": "cite reply citer répondre",
    "message-read-aloud": "speak voice listen say parler voix écouter dire lire",
    "message-edit": "change correct resend rewrite corriger changer réécrire renvoyer",
    "message-regenerate": "retry regenerate redo again réessayer régénérer refaire relancer",
    "message-regenerate-with": "retry regenerate other réessayer régénérer refaire autre",
    "message-branch": "fork copy split bifurquer dériver copie embranchement",
    "message-undo-files": "restore revert rétablir défaire revenir",
    "message-pin": "favourite bookmark favori signet garder",
    "message-delete-branch": "remove version retirer effacer",
    "show-tasks": "todo plan list steps à faire liste étapes tâches",
    "show-activity": "agents tools calls log journal outils appels équipe",
    "show-memory": "remember facts knowledge souvenirs connaissances retenir",
    "show-reports": "documents results findings résultats comptes rendus",
    "show-questions": "inbox approvals allow answer waiting boîte accords autoriser répondre attente",
    "show-files": "changes diff undo modifications différences annuler",
    "show-timeline": "time history duration temps historique durée chronologie",
    "show-context": "prompt inspector sent tokens consigne inspecteur envoyé jetons",
    "keep-panes-closed": "rail right column strip hide volets droite bande masquer",
    "page:general": "language theme font size notifications langue thème police taille",
    "page:agents": "team roles prompts équipe rôles consignes",
    "page:prompts": "library templates variables snippets texts bibliothèque modèles variables textes consignes",
    "page:providers": "models api key server ollama openai mistral anthropic modèles clé serveur",
    "page:mcp": "servers tools plug connect serveurs outils connecter",
    "page:approvals": "allow deny rules audit rights approvals autoriser refuser règles droits accords demander",
    "page:tools": "functions own outils fonctions",
    "page:skills": "instructions abilities compétences savoir-faire",
    "page:web": "search browser internet pages recherche navigateur",
    "page:projects": "code graph ingest folder index graphe dossier lire indexer",
    "page:memory": "embedder vectors souvenirs vecteurs",
    "page:media": "images vision drawing images dessin vision",
    "page:shortcuts": "keys keyboard bindings touches clavier raccourcis",
    "page:quick": "tray notifications global key barre zone de notification raccourci global",
    "page:usage": "tokens cost price spent statistics csv jetons coût prix dépenses statistiques consommation",
    "page:data": "backup restore export import folder sauvegarde restaurer exporter importer dossier",
    "page:diagnostics": "doctor logs version check journal vérifier version santé",
}
"""By the name of an action, or ``page:`` and the name of a settings page."""


def found_by(name: str, *texts: str) -> str:
    """All search terms of a command: its ``texts`` (English ``N_`` strings) in each language, and its synonyms."""
    return " ".join((*map(in_every_language, texts), WORDS.get(name, "")))
