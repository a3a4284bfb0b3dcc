"""Put compiled kernels into the pure wheel of a folder, for this system, Python and numba: wheel.py FROM TO."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from fwlasso._core.shipped import MANIFEST, baseline, manifest

# Kernels for other storages are few people's: they are compiled where they are used.
STORAGES = "dense64", "dense32", "csc64", "csc32"


def run(*command: object, **environment: str) -> None:
    """Run Python with these arguments."""
    subprocess.run([sys.executable, *map(str, command)], check=True, env={**os.environ, **environment})


def tag() -> str:
    """Return the tag of the platform: the oldest that numba's own wheels are for."""
    machine = platform.machine()
    if sys.platform == "linux":
        return f"manylinux_2_28_{machine}"
    return f"macosx_11_0_{machine}" if sys.platform == "darwin" else sysconfig.get_platform().replace("-", "_")


def main(pure: Path, out: Path) -> None:
    """Unpack the wheel, compile into it, and pack it again."""
    processor, features = baseline()
    if not processor:
        sys.exit(f"no baseline is known for {platform.machine()}: the pure wheel has to do")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run("-m", "wheel", "unpack", "-d", place, next(pure.glob("*-none-any.whl")))
        (tree,) = (each for each in place.iterdir() if each.is_dir())
        kernels = tree / "fwlasso" / "_kernels"
        kernels.mkdir()
        environment = {
            "PYTHONPATH": str(tree),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FWLASSO_BUILD_KERNELS": str(kernels),
            "NUMBA_CPU_NAME": processor,  # with the name alone, numba adds the features of this machine
            "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in features),
        }
        for n_jobs in (
            2,
            1,
        ):  # two that write an index at once may lose a kernel: the last one adds it
            run("-m", "fwlasso.warmup", "--jobs", n_jobs, "--storages", *STORAGES, **environment)
        (kernels / MANIFEST).write_text(json.dumps(manifest()), encoding="utf-8")
        n_kernels = len(list(kernels.glob("*.nbc")))
        run("-m", "wheel", "pack", "-d", place, tree)
        (packed,) = place.glob("*.whl")
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        tags = "--python-tag", python, "--abi-tag", python, "--platform-tag", tag()
        run("-m", "wheel", "tags", "--remove", *tags, packed)
        (tagged,) = place.glob("*.whl")
        out.mkdir(exist_ok=True)
        target = out / tagged.name
        target.write_bytes(tagged.read_bytes())
    sys.stdout.write(f"{target}: {n_kernels} kernels for {processor}, {target.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
