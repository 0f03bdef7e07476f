"""Where programs store keys, passwords, sessions and histories: unreadable in the sandbox.

Names are relative to the home folder; a folder stands for everything in it. Each comes from the program's
documentation, or its source where that is silent. Files that builds read at every start and that rarely contain a token
stay readable, or no build would run: ``.gitconfig``, ``.condarc``, ``.yarnrc``, ``pip.conf``, ``NuGet.Config``,
``.terraformrc``. Those of bundler, composer, npm and poetry are closed, and commands are given other paths instead
(``boxed`` in ``tools.shell.running``).
"""

from __future__ import annotations

_KEYS = (
    # OpenSSH and GnuPG, age and SOPS ("age keys.txt"), passwords: pass(1), gopass, KeePassXC, 1Password, Bitwarden.
    ".ssh", ".gnupg", ".age", ".config/age", ".config/sops", ".password-store", ".local/share/gopass",
    ".config/keepassxc", ".cache/keepassxc", ".config/1Password", ".config/op", ".op", ".config/Bitwarden",
    ".config/Bitwarden CLI", ".config/rbw", ".local/share/rbw",
    # Keyrings of desktops, certificates of NSS, PKCS#11 and Kerberos.
    ".local/share/keyrings", ".local/share/kwalletd", ".local/share/gnome-keyring", ".pki", ".local/share/pki",
    ".Xauthority", ".ICEauthority", ".k5login", ".config/krb5",
    # Wallets.
    ".electrum", ".bitcoin", ".ethereum", ".config/solana", ".monero",
)  # fmt: skip
_CLOUDS = (
    # Command lines of clouds and hosts: where each stores its token after "login".
    ".aws", ".azure", ".kube", ".docker", ".config/containers", ".config/gcloud", ".config/doctl", ".config/hcloud",
    ".config/scw", ".config/fly", ".fly", ".config/stripe", ".config/heroku", ".railway", ".config/railway",
    ".netlify", ".config/netlify", ".vercel", ".config/vercel", ".local/share/com.vercel.cli",
    ".config/configstore/firebase-tools.json", ".wrangler", ".config/.wrangler", ".config/firebase", ".oci",
    ".bluemix", ".config/linode-cli", ".config/s3cmd", ".s3cfg", ".boto", ".config/rclone", ".mc", ".config/helm",
    ".config/argocd", ".argocd", ".vault-token", ".config/vault", ".terraform.d", ".pulumi", ".config/ngrok",
    ".ngrok2", ".cloudflared", ".config/tailscale", ".config/databricks", ".databrickscfg", ".snowflake", ".snowsql",
    ".kaggle", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".huggingface",
)  # fmt: skip
_SOURCES = (
    # Source hosts and package registries.
    ".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials",
    ".git-credential-cache", ".cache/git/credential", ".config/gh", ".config/hub", ".config/glab-cli", ".config/tea",
    ".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".local/share/uv/credentials",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".local/share/gem/credentials",
    ".bundle/config", ".composer/auth.json", ".config/composer/auth.json", ".m2/settings.xml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials", ".ivy2/.credentials",
    ".hex/hex.config", ".pub-cache/credentials.json", ".config/dart/pub-credentials.json", ".continuum",
    ".subversion/auth", ".svn/auth", ".fossil", ".config/transifex", ".transifexrc",
)  # fmt: skip
_DATABASES = (
    ".pgpass", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".mongodb", ".config/dbeaver",
    ".local/share/DBeaverData", ".config/beekeeper-studio", ".config/mssql-cli",
)  # fmt: skip
_BROWSERS = (
    # Profiles of browsers and of programs with sessions: native package, snap, Flatpak, and their caches.
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/mozilla",
    ".librewolf", ".waterfox", ".zen", ".tor-browser", ".local/share/torbrowser", ".config/falkon",
    ".local/share/falkon", ".local/share/epiphany", ".config/epiphany", ".local/share/qutebrowser", ".cache/mozilla",
    ".cache/google-chrome", ".cache/chromium", ".cache/BraveSoftware", ".cache/microsoft-edge", ".cache/thunderbird",
    ".cache/vivaldi", "snap/firefox", "snap/chromium", "snap/brave", "snap/opera", "snap/thunderbird",
    "snap/bitwarden", "snap/1password", "snap/keepassxc", "snap/slack", "snap/discord", "snap/telegram-desktop",
    "snap/signal-desktop", "snap/code", ".var/app", ".config/Slack", ".config/discord", ".config/Signal",
    ".local/share/TelegramDesktop", ".config/Element", ".config/teams-for-linux", ".local/share/evolution",
    ".config/evolution", ".cache/evolution", ".config/goa-1.0", ".mutt", ".muttrc", ".config/mutt", ".msmtprc",
    ".config/msmtp", ".mbsyncrc", ".config/isyncrc", ".offlineimaprc", ".fetchmailrc", ".config/remmina",
    ".local/share/remmina", ".config/filezilla", ".purple", ".irssi", ".weechat", ".config/weechat",
    ".config/Code/User/globalStorage", ".config/Code/Local Storage", ".config/Code/Cookies",
    ".config/Cursor/User/globalStorage", ".config/JetBrains", ".config/github-copilot",
)  # fmt: skip
_TYPED = (
    # Histories: typed commands contain passwords. Trash: it was meant to be gone.
    ".bash_history", ".zsh_history", ".zhistory", ".histfile", ".sh_history", ".ksh_history", ".history",
    ".local/share/fish/fish_history", ".local/share/atuin", ".local/state/bash", ".local/state/zsh",
    ".local/share/nushell", ".config/nushell/history.txt", ".config/nushell/history.sqlite3", ".python_history",
    ".psql_history", ".mysql_history", ".mariadb_history", ".sqlite_history", ".rediscli_history", ".dbshell",
    ".mongosh", ".node_repl_history", ".irb_history", ".local/share/irb", ".pry_history", ".Rhistory",
    ".scala_history", ".ghc/ghci_history", ".erlang-history", ".lesshst", ".local/state/lesshst", ".wget-hsts",
    ".viminfo", ".local/state/vim", ".local/state/nvim/shada", ".local/share/nvim/shada", ".local/share/zoxide",
    ".ipython/profile_default/history.sqlite", ".local/share/recently-used.xbel", ".local/share/Trash",
)  # fmt: skip
_AGENTS = (
    # Agents like this one, and this one itself: keys, conversations, memories.
    ".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode", ".aider.conf.yml",
    ".config/goose", ".continue", ".ollama/id_ed25519", ".config/io.datasette.llm", ".config/openai",
    ".config/atelier", ".local/share/atelier", ".local/state/atelier",
)  # fmt: skip
SECRETS = (*_KEYS, *_CLOUDS, *_SOURCES, *_DATABASES, *_BROWSERS, *_TYPED, *_AGENTS)
"""Files and folders below the home folder that a command in the sandbox cannot read."""
