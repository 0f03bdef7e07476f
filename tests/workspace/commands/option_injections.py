"""Command lines that try to run a program or write a file through an option of a harmless command, in many
spellings.

``CANARY`` is a program that leaves a mark when it runs, ``WRITTEN`` a file that must not be written.
"""

from __future__ import annotations

CANARY = "./canary"
WRITTEN = "written"

RUNNING: dict[str, tuple[str, ...]] = {
    "sort": ("--compress-program=./canary -S 1k in.txt", "-S 1b --compress-program ./canary in.txt",
    "--compress-prog=./canary in.txt"),
    "rg": ("--pre ./canary x", "--pre=./canary x", "--hostname-bin ./canary --hyperlink-format x x",
    "-z --pre ./canary x .",
           "--search-zip x", "--pre-glob * --pre ./canary x"),
    "find": (". -exec ./canary ;", ". -exec ./canary \\;", ". -exec ./canary +", ". -execdir ./canary \\;",
    ". -ok ./canary \\;",
             ". -okdir ./canary \\;", ". -name in.txt -exec ./canary '{}' \\;", ". -type f -o -exec ./canary '{}' +"),
    "tar": ("-xf a.tar --to-command=./canary", "-cf /dev/null in.txt --checkpoint=1 --checkpoint-action=exec=./canary",
            "-xf a.tar -I ./canary", "-cf x --use-compress-program=./canary in.txt",
            "--rsh-command=./canary -xf host:x"),
    "sed": ("1e./canary in.txt", "-n '1e ./canary' in.txt", "'s/a/.\\/canary/e' in.txt", "-n '1p;1e ./canary' in.txt",
            "--expression='1e ./canary' in.txt", "-f script.sed in.txt", "-s -n 1p in.txt -e '1e ./canary'",
            "-n '1,$e ./canary' in.txt"),
    "awk": ("'BEGIN{system(\"./canary\")}'", "'{print | \"./canary\"}' in.txt", "-f script.awk",
    "'BEGIN{\"./canary\" | getline}'"),
    "xargs": ("./canary", "-I x ./canary x", "-a in.txt ./canary", "sh -c ./canary"),
    "env": ("./canary", "-S ./canary", "-i ./canary", "X=1 ./canary", "--split-string=./canary"),
    "less": ("in.txt", "'+!./canary' in.txt", "-o written in.txt"),
    "man": ("-P ./canary ls", "--pager=./canary ls", "-H./canary ls"),
    "git": ("-c core.fsmonitor=./canary status", "-c core.pager=./canary -p log", "-c diff.external=./canary diff",
            "-c alias.x=!./canary x", "--exec-path=. canary", "--paginate log", "-p log",
            "--config-env=core.fsmonitor=HOME status",
            "ls-remote --upload-pack=./canary .", "fetch --upload-pack=./canary . main",
            "clone --upload-pack=./canary . y",
            "clone -u ./canary . y", "archive --remote=. --exec=./canary HEAD", "grep -O./canary x",
            "grep --open-files-in-pager=./canary x",
            "diff --ext-diff", "log -p --ext-diff", "show --ext-diff HEAD", "diff --textconv", "log --textconv -p",
            "cat-file --textconv HEAD:a",
            "difftool -y -x ./canary", "mergetool", "rebase -x ./canary HEAD~1", "bisect run ./canary",
            "submodule foreach ./canary",
            "filter-branch --tree-filter ./canary", "commit -m x", "checkout .", "stash", "gc", "blame in.txt",
            "log --format=%GG",
            "log --pretty=format:%GK", "log --show-signature", "config core.fsmonitor ./canary",
            "hook run post-checkout",
            "maintenance run", "--git-dir=bare.git log", "--work-tree=/ status", "-C bare.git status",
            "status --recurse-submodules",
            "diff --submodule=diff", "var GIT_EDITOR", "instaweb", "help -w log", "send-email x", "receive-pack .",
            "upload-pack ."),
    "tail": ("-f in.txt --pid=1", "--follow=name in.txt"),
    "tree": ("-o written", "--fromfile ."),
    "diff": ("--paginate in.txt b.txt", "-l in.txt b.txt", "--to-file=/etc/passwd in.txt"),
    "file": ("-C -m in.txt", "--compile -m in.txt", "-z in.txt"),
    "python3": ("-c 'import os; os.system(\"./canary\")'", "canary", "-m x", "-V", "--version"),
    "node": ("-e 'require(\"child_process\").execFileSync(\"./canary\")'", "--require ./canary.js x", "--version"),
    "cargo": ("--version", "build", "test"), "go": ("version", "env", "run ."), "ruby": ("--version", "-e x"),
    "npm": ("test", "run x", "--version", "exec ./canary"), "make": ("-n", "--eval='$(shell ./canary)'", "--version"),
    "perl": ("-e 'system(\"./canary\")'",), "php": ("-r 'system(\"./canary\");'",),
    "ssh": ("-o ProxyCommand=./canary host",),
    "rsync": ("-e ./canary host:x .",), "zip": ("x.zip in.txt -T -TT ./canary",), "unzip": ("-p x.zip",),
    "vim": ("-c '!./canary'",),
    "ed": ("in.txt",), "nice": ("./canary",), "nohup": ("./canary",), "timeout": ("1 ./canary",),
    "setsid": ("./canary",),
    "stdbuf": ("-o0 ./canary",), "time": ("./canary",), "watch": ("./canary",), "script": ("-c ./canary /dev/null",),
    "strace": ("./canary",), "flock": ("in.txt ./canary",), "busybox": ("sh ./canary",),
    "sh": ("-c ./canary", "./canary"),
    "bash": ("-c ./canary", "--rcfile ./canary -i", "./canary"), "sudo": ("./canary",), "su": ("-c ./canary",),
    "chroot": (". ./canary",),
    "parallel": ("./canary ::: 1",), "entr": ("./canary",), "at": ("now",), "crontab": ("in.txt",),
    "gdb": ("-ex '!./canary'",),
    "openssl": ("engine -t ./canary.so",), "docker": ("run x ./canary",),
    "jq": ("-n 'import \"x\" as $x; $x'", "-f script.jq", "-L . ."),
    "split": ("--filter=./canary in.txt",), "dpkg": ("-l",), "curl": ("-K in.txt",
        "file:///etc/passwd"), "wget": ("--use-askpass=./canary x",),
    "date": ("-f in.txt", "-s 2020-01-01", "0101000020"), "hostname": ("evil",), "column": ("in.txt",), "ps": ("auxe",),
}  # fmt: skip
"""Arguments of a program that would run ``CANARY``, or that need approval for another reason."""

WRITING: dict[str, tuple[str, ...]] = {
    "sort": ("-o written in.txt", "-owritten in.txt", "--output=written in.txt", "--output written in.txt",
    "--outp=written in.txt",
             "in.txt -o written", "-ro written in.txt", "-T . -o written in.txt"),
    "uniq": ("in.txt written", "-c in.txt written", "-- in.txt written"),
    "sed": ("-i s/a/b/ in.txt", "-n 'w written' in.txt", "-n '1w written' in.txt", "'s/a/b/w written' in.txt",
    "-ni 1p in.txt",
            "-n '1p;w written' in.txt", "-i.bak -n 1p in.txt", "--in-place -n 1p in.txt"),
    "find": (". -fprint written", ". -fls written", ". -fprintf written x", ". -name gone.txt -delete",
    ". -fprint0 written"),
    "git": ("diff --output=written", "diff --output written", "log --output=written", "show --output=written",
    "diff -o written",
            "format-patch -1 -o out", "branch evil", "tag evil", "tag -d v1", "branch -D main", "remote add x y",
            "config user.name x",
            "init x", "add .", "reset --hard", "clean -fdx", "rm in.txt", "mv in.txt b", "archive -o written HEAD",
            "bundle create written HEAD",
            "update-ref refs/heads/x HEAD", "notes add -m x", "worktree add wt", "symbolic-ref HEAD refs/heads/x"),
    "tree": ("-o written .", "-owritten", "-a -o written"),
    "xxd": ("in.txt written", "-r in.txt written"), "tee": ("written",
        "-a written"), "cp": ("in.txt written",), "mv": ("gone.txt written",),
    "touch": ("written",), "mkdir": ("written",), "rm": ("gone.txt", "-rf gone.txt"), "dd": ("if=in.txt of=written",),
    "echo": ("x > written", "x >> written", "x >| written", "x &> written", "x 2> written"),
    "cat": ("in.txt > written",),
    "ls": ("> written", "-la 2>> written"), "tar": ("-cf written in.txt",), "install": ("in.txt written",),
    "ln": ("-s in.txt written",),
    "split": ("in.txt written",), "csplit": ("-f written in.txt 1",), "truncate": ("-s 0 in.txt",),
    "patch": ("-p1 -i in.txt",),
    "base64": ("-o written in.txt",), "curl": ("-o written file:///etc/passwd",), "wget": ("-O written x",),
    "gzip": ("-k in.txt",),
    "printf": ("-v x y",), "chmod": ("777 in.txt",), "shred": ("in.txt",),
}  # fmt: skip
"""Arguments that would write or delete a file."""

SHELL = (
    "$(./canary)", "`./canary`", "ls $(./canary)", 'ls "$(./canary)"', 'cat "a$(./canary)b"', "cat `./canary`",
    "ls; ./canary",
    "ls && ./canary",
    "ls || ./canary", "ls | ./canary", "ls\n./canary", "ls & ./canary", "(./canary)", "{ ./canary; }", "ls <(./canary)",
    "ls >(./canary)",
    "if ./canary; then ls; fi", "while ./canary; do ls; done", "for x in $(./canary); do ls; done",
    "f() { ./canary; }; f", "eval ./canary",
    "exec ./canary", "command ./canary", "builtin eval ./canary", ". ./canary", "source ./canary", "PATH=. canary",
    "X=$(./canary)",
    "X=1 ./canary", "export PATH=.; canary", "export X=$(./canary)", "declare x=$(./canary)",
    "typeset -i 'x=a[$(./canary)]'",
    "alias ls=./canary; ls", "trap ./canary EXIT", "cat <<E\n$(./canary)\nE", "cat <<< $(./canary)",
    "echo ${x:-$(./canary)}",
    "echo $((a[$(./canary)]))", "[[ -v 'a[$(./canary)]' ]]", "test -v 'a[$(./canary)]'", "echo {./canary,}",
    "! ./canary", "time ./canary",
    "coproc ./canary", "ls \\\n; ./canary", "ls #\n./canary", "echo 'a' $'\\n./canary'", "case x in x) ./canary;; esac",
    "ls ;./canary",
    "cd . && ./canary", "cd /tmp && echo x > written", "cd ..; cat passwd", "cd .. && cat secret", "cat ../secret",
    "cat /etc/passwd",
    "cat ~/.ssh/id_rsa", "ls / ", "cat < ../secret", "cat in.txt > ../out", "cat link-out", "head link-dir/secret",
    "cat lin*",
    "cat */secret",
    "printf '%s' x > written", "echo x | tee written", "git log | sh", "cat in.txt | bash", "ls | xargs ./canary",
    "echo ./canary | sh",
    "ls -la | sort -o written", "canary", "./ls", "bin/ls", "/bin/sh ./canary", "\\./canary", "'./canary'",
    '"./canary"', "./can*",
    "./canar?",
    "cat /dev/tcp/127.0.0.1/9", "cat < /dev/tcp/127.0.0.1/9", "cat /proc/self/environ", "grep -r x /", "find / -name x",
    "wc -c ../secret",
    "sort --files0-from=in.txt", "wc --files0-from=in.txt", "du --files0-from=in.txt", "ls -L link-dir", "grep -R x .",
    "find -L . -name x",
    "-o", "ls -*", "sort -*", "sort *", "git -*", "cat -- -o", "env", "set", "export", "declare -p", "history",
    "kill -9 1", "exit",
)  # fmt: skip
"""Complete lines."""

_WRAPS = ("{}", " {}", "{} # x", "ls && {}", "ls | {}", "{}; ls", "cd . && {}")


def lines() -> list[str]:
    """Every line, and each of the options in more spellings: quoted, after a pipe, after ``cd``."""
    found = list(SHELL)
    for table in (RUNNING, WRITING):
        for program, arguments in table.items():
            for place, each in enumerate(arguments):
                found.append(f"{program} {each}")
                found.append(f"'{program}' {each}")
                found.append(_WRAPS[place % len(_WRAPS)].format(f"{program} {each}"))
    return list(dict.fromkeys(found))


NAMED: tuple[str, ...] = (
    # Arguments or file names read from a file: ``names`` names the secret, ``options`` contains options
    "strings @options", "strings -n 2 @options", "strings -n @options in.txt", "strings -- @options",
    "md5sum -c sums", "md5sum --check sums", "md5sum --chec sums", "sha1sum -c sums", "sha256sum -wc sums",
    "sha512sum --check=sums", "b2sum -c sums", "cksum --check sums", "cksum -c sums", "wc --files0-from=names0",
    "wc --files0-from names0", "wc --files0 names0", "du --files0-from=names0", "sort --files0-from=names0",
    "file -f names", "file --files-from names", "file -bf names", "tree --fromfile names", "tree --fromtabfile names",
    "date -f names", "date --file=names", "date --fil names", "find -files0-from names0",
    "find . -files0-from names0", "jq -f names -n", "jq -nf names", "jq --from-file names -n", "join @options in.txt",
    "rg --files -f names", "comm --nocheck-order @names in.txt", "git ls-files --pathspec-from-file=names",
    "ls --files0-from=names0", "head --files-from=names", "stat --files0-from=names0", "cut --files0-from=names0 -c1",
    "tac @names", "nl @names", "cat @names", "grep -r --exclude-from=names x .", "rg --ignore-file names x",
    # A file outside the workspace, as an operand or as the value of an option; links, /proc
    "grep -f {out} in.txt", "grep --file={out} in.txt", "grep --file {out} in.txt", "grep -vf{out} in.txt",
    "grep -Ff {out} in.txt", "grep --fil={out} x", "grep -r --exclude-from={out} x .", "grep -rX{out} x .",
    "rg -f {out} in.txt", "rg -vf{out} in.txt", "rg --file={out} in.txt", "rg --ignore-file {out} x",
    "rg --ignore-file={out} x", "rg --pre {out} x", "diff -X {out} in.txt b.txt",
    "diff --exclude-from={out} in.txt b.txt", "diff --from-file={out} in.txt", "diff --from-file {out} in.txt",
    "diff --to-file={out} in.txt", "diff --to-f={out} in.txt", "diff -S {out} in.txt b.txt", "diff -Sa {out} in.txt",
    "diff --starting-file={out} in.txt b.txt", "diff -D x {out} in.txt", "diff -F x {out} in.txt",
    "diff --line-format={out} in.txt b.txt", "du -X {out} .", "du --exclude-from={out} .", "date -r {out}",
    "date --reference={out}", "date --ref={out}", "date -d 'TZ=\"{out}\" now'", "date -d 'TZ=\":{out}\" 1970-01-01'",
    "find . -newermt 'TZ=\"{out}\" now'", "find {out} -name x", "find . -newer {out}", "find . -samefile {out}",
    "find . -anewer {out}", "find . -cnewer {out}", "find -H {out}", "find -L .", "find . -follow",
    "find . -newerXm {out}", "touch -r {out} in.txt", "file -m {out} in.txt", "file --magic-file={out} in.txt",
    "file -C -m {out}", "file -L link-out", "file --dereference link-out", "file -z {out}", "jq -L {out} -n 1",
    "jq -n --slurpfile a {out} '$a'", "jq -n --rawfile a {out} '$a'", "jq -n --argfile a {out} '$a'",
    "jq -n 'include \"x\"; 1'", "jq . {out}", "jq -n '1' --from-file {out}", "sort --random-source={out} -R in.txt",
    "sort -T {out} in.txt", "sort -R --random-s={out} in.txt", "sort -m {out}", "sort -k1 {out}",
    "tail --follow=name {out}", "head -n1 {out}", "tail -n+1 {out}", "nl -ba {out}", "tac -s x {out}", "od -w {out}",
    "od -An -w {out}", "od -cw {out}", "od -An -c -w16 {out}", "od -S {out}", "od --strings {out}",
    "od --width {out}", "hexdump -f {out} in.txt", "hexdump -e '1/1' {out}", "xxd -ac {out} b.txt", "xxd -p {out}",
    "xxd -c 8 {out}", "tree -Lo 2 b.txt", "tree -Po '*.c' b.txt", "tree -aLo 2 b.txt", "tree --gitfile={out}",
    "tree --infofile={out}", "tree -l", "tree -H {out} -o b.txt", "cmp {out} in.txt", "cmp in.txt {out}",
    "cmp -n 5 in.txt {out}", "comm {out} in.txt", "comm - {out}", "join - {out}", "join in.txt {out}",
    "join -j1 {out} in.txt", "paste {out}", "paste -d, - {out}", "cut -c1- {out}", "cut -c 1- -- {out}",
    "expand {out}", "unexpand {out}", "fmt -w 9 {out}", "fold -w9 {out}", "rev {out}", "uniq {out}",
    "uniq -f 1 {out}", "wc {out}", "stat {out}", "ls {out}", "du {out}", "df {out}", "readlink -f {out}",
    "realpath {out}", "realpath --relative-to={out} in.txt", "realpath --relative-base={out} in.txt",
    "basename -a {out} $x", "sed -n 1p {out}", "sed -n -f {out} in.txt", "sed -n --file={out} in.txt",
    "sed -n r{out} in.txt", "sed -n '1r {out}' in.txt", "tr a b < {out}", "ls -L link-dir",
    "ls --dereference link-dir", "ls -H link-dir", "du -L .", "du --dereference .", "du -D link-dir", "grep -R x .",
    "grep --dereference-recursive x .", "grep -r x link-dir", "rg -L x", "rg --follow x", "stat -L link-out",
    "wc -c < link-out", "cat link-dir/secret", "cat /proc/self/environ", "cat /proc/self/cmdline", "ls /proc/self/fd",
    "cat /etc/shadow", "head /etc/passwd", "strings /proc/self/maps", "cat ~root/.bashrc", "cat ~+/x", "cat ~-/x",
    "cat < /dev/fd/0", "readlink /proc/self/cwd", "grep x /proc/self/environ", "cp {out} b.txt", "tee -a {out}",
    "mv in.txt {out}", "cp -t {out} in.txt", "cp --target-directory={out} in.txt", "rm {out}", "touch {out}",
    "mkdir -p {out}x",
)  # fmt: skip
"""Lines that name a file outside (``{out}``), or name it in another way than by a plain operand."""
