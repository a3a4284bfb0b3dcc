"""Files with checksums, altered: with the old checksums, or sealed again as by somebody who means harm."""

import hashlib
import io
import json
import zipfile

import numpy as np


def read_members(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def plain_record(file):
    """Return what a JSON file holds, without what makes it one of ours."""
    record = json.loads(file.read_text())
    return {name: value for name, value in record.items() if name not in ("format", "version", "sha256")}


def write_members(file, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def array_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def read_arrays(file):
    return {
        name.removesuffix(".npy"): np.load(io.BytesIO(content))
        for name, content in read_members(file).items()
        if name.endswith(".npy")
    }


def edit_array(file, name, change):
    """Alter an array, and no checksum; the archive is whole."""
    members = read_members(file)
    members[f"{name}.npy"] = array_bytes(change(np.load(io.BytesIO(members[f"{name}.npy"]))))
    write_members(file, members)


def reseal_members(file, members, **changes):
    """Write members with a record that has their checksums."""
    from fwlasso.data.sealed import seal

    record = {**json.loads(members["record.json"]), **changes}
    arrays = {name: content for name, content in members.items() if name.endswith(".npy")}
    digests = {name.removesuffix(".npy"): hashlib.sha256(content).hexdigest() for name, content in arrays.items()}
    write_members(file, {**arrays, "record.json": seal({**record, "arrays": digests})})


def reseal_array(file, name, change):
    """Alter an array, and its checksum with it; None removes it."""
    members = read_members(file)
    changed = change(np.load(io.BytesIO(members.pop(f"{name}.npy"))))
    if changed is not None:
        members[f"{name}.npy"] = changed if isinstance(changed, bytes) else array_bytes(changed)
    reseal_members(file, members)


def reseal_record(file, **changes):
    """Alter what a JSON file or the record of arrays holds, and the checksum with it."""
    if file.suffix == ".npz":
        reseal_members(file, read_members(file), **changes)
        return
    from fwlasso.data.sealed import seal

    file.write_text(seal({**json.loads(file.read_text()), **changes}))
