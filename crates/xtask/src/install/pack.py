"""Packs a folder as a wheel: `pack.py FOLDER WHEEL`. The same files make the same bytes, whenever they are packed."""

import base64
import hashlib
import pathlib
import sys
import zipfile

FIRST = (1980, 1, 1, 0, 0, 0)  # the first time that an archive can have


def line_of(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(archive, name, data, is_program):
    entry = zipfile.ZipInfo(name, FIRST)
    entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if is_program else 0o100644) << 16
    archive.writestr(entry, data, compresslevel=9)


def main(folder, wheel):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # The description of the package comes last, as the format asks for.
    files.sort(key=lambda path: path.relative_to(folder).parts[0].endswith(".dist-info"))
    record = f"{files[-1].relative_to(folder).parts[0]}/RECORD"
    lines = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in files:
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            add(archive, name, data, path.stat().st_mode & 0o100)
            lines.append(line_of(name, data))
        add(archive, record, "".join([*lines, f"{record},,\n"]).encode(), False)


main(*map(pathlib.Path, sys.argv[1:]))
