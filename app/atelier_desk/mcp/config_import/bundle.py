"""Bundles (``.mcpb``, formerly ``.dxt``): an archive of a server and its manifest.

It is unpacked into a folder of its own after a person agrees.
"""

from __future__ import annotations

import re
import shutil
import stat
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from atelier_desk.domain import jsonc
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.mcp.config_import.found_server import Ask, FoundServer, build, mapping, rows, text_of, texts
from atelier_desk.support.i18n import N_

SUFFIXES = (".mcpb", ".dxt")
MOST_FILES, MOST_BYTES, MOST_MANIFEST = 20_000, 500 * 1024 * 1024, 1024 * 1024
_CONFIG = re.compile(r"\$\{user_config\.([A-Za-z0-9_.-]+)\}")
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}


def read(path: Path, folder: Path) -> FoundServer:
    """Read the server of a bundle as it would run from ``folder``; nothing is unpacked.

    Raises:
        UsageError: the file is not a bundle.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo("manifest.json")
            if info.file_size > MOST_MANIFEST:
                raise UsageError(N_("The manifest of {file} is too long."), file=path.name)
            manifest = jsonc.loads(archive.read(info).decode("utf-8-sig"))
    except KeyError:
        raise UsageError(N_("{file} is not a bundle: it has no manifest.json."), file=path.name) from None
    except (zipfile.BadZipFile, OSError, ValueError, RecursionError, NotImplementedError, RuntimeError) as error:
        raise UsageError(
            N_("{file} is not a readable bundle: {detail}"), file=path.name, detail=str(error)[:200]
        ) from None
    return of_manifest(manifest, folder, path.name)


def of_manifest(manifest: Any, folder: Path, file: str) -> FoundServer:
    """The server that a manifest describes.

    Raises:
        UsageError: it describes none.
    """
    server = manifest.get("server") if isinstance(manifest, Mapping) else None
    config = server.get("mcp_config") if isinstance(server, Mapping) else None
    if not isinstance(server, Mapping) or not isinstance(config, Mapping):
        raise UsageError(N_("{file} is not a bundle: its manifest does not specify a server."), file=file)
    overrides = config.get("platform_overrides")
    mine = overrides.get(_PLATFORMS.get(sys.platform, "linux")) if isinstance(overrides, Mapping) else None
    config = {**config, **(mine if isinstance(mine, Mapping) else {})}
    asks: dict[str, Ask] = {}
    variables: dict[str, str] = {}
    wanted = mapping(manifest.get("user_config"))
    places = {"__dirname": str(folder), "HOME": str(Path.home()), "DESKTOP": str(Path.home() / "Desktop")}
    places["DOCUMENTS"] = str(Path.home() / "Documents")

    def filled(text: str) -> str:
        for name, value in places.items():
            text = text.replace(f"${{{name}}}", value)
        return _CONFIG.sub(lambda found: "${" + variable(found[1]) + "}", text).replace("${/}", "/")

    def variable(key: str) -> str:
        name = "CONFIG_" + re.sub(r"\W+", "_", key).upper()
        entry = mapping(wanted.get(key))
        secret = bool(entry.get("sensitive"))
        default = entry.get("default", "")
        default = text_of(default[0]) if isinstance(default, list) and default else text_of(default)
        for place, value in places.items():
            default = default.replace(f"${{{place}}}", value)
        told = " – ".join(filter(None, (text_of(entry.get("title") or ""), text_of(entry.get("description") or ""))))
        asks.setdefault(f"env:{name}", Ask(f"env:{name}", told or key, secret, bool(entry.get("required")), default))
        variables[name] = "" if secret else default
        return name

    env = {name: filled(text) for name, text in texts(config.get("env")).items()}
    arguments = [filled(text_of(each)) for each in rows(config.get("args")) if isinstance(each, str | int | float)]
    platforms = mapping(manifest.get("compatibility")).get("platforms")
    notes: list[AtelierError] = []
    if isinstance(platforms, list) and platforms and sys.platform not in platforms:
        notes.append(UsageError(N_("This server only supports {platforms}."), platforms=", ".join(map(str, platforms))))
    return build(
        text_of(manifest.get("name") or "") or Path(file).stem, "mcpb", text_of(manifest.get("description") or ""),
        asks=asks.values(), warnings=notes, transport="stdio", command=filled(text_of(config.get("command") or "")),
        args=tuple(arguments), env={**variables, **env}, folder=str(folder),
    )  # fmt: skip


def unpack(path: Path, folder: Path) -> None:
    """Unpack a bundle into a new folder.

    Raises:
        UsageError: it contains a link, a path outside the folder, or too much; nothing remains on disk.
    """
    made = False
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_FILES or sum(each.file_size for each in members) > MOST_BYTES:
                raise UsageError(
                    N_("{file} has more than {files} files, or more than {most} MB."),
                    file=path.name,
                    files=MOST_FILES,
                    most=MOST_BYTES // 1024**2,
                )
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                raise UsageError(N_("Open the bundle file again.")) from None  # another bundle
            made = True
            for member in members:
                _unpack(archive, member, folder)
    except (UsageError, OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError) as error:
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            N_("{file} is not a readable bundle: {detail}"), file=path.name, detail=str(error)[:200]
        ) from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    name = PurePosixPath(member.filename.replace("\\", "/"))
    kind = stat.S_IFMT(member.external_attr >> 16)
    if name.is_absolute() or ".." in name.parts or ":" in (name.parts or ("",))[0] or kind == stat.S_IFLNK:
        raise UsageError(
            N_("The bundle has a file that would be outside its folder: {name}"), name=member.filename[:200]
        )
    target = folder.joinpath(*name.parts)
    if member.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with archive.open(member) as source, target.open("xb") as out:
        while data := source.read(1024 * 1024):
            left -= len(data)
            if left < 0:
                raise UsageError(
                    N_("The bundle has a file that is longer than declared: {name}"), name=member.filename[:200]
                )
            out.write(data)
    if member.external_attr >> 16 & 0o100:
        target.chmod(0o700)
