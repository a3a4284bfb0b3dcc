"""The commands about data: ``fwlasso convert``, ``fwlasso info`` and ``fwlasso verify``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table as RichTable

from ..data.store import Store, verify_store
from .names import names_in
from .options import AsJson, DropMissing, Exclude, Impute, Input, Offset, Quiet, Target, Threads, Weights, ZeroBased
from .read import note_first_index, read_data
from .show import Detail, noting_warnings, put_json, steps_of


def convert(
    source: Annotated[Path, typer.Argument(help="LIBSVM, npz, npy, csv, tsv, parquet, mtx, h5ad or a store.")],
    store: Annotated[Path, typer.Argument(help="Folder of the store. An existing store is replaced.")],
    target: Target = None,
    rows: Annotated[str | None, typer.Option(help="Rows: 0:1000, or a list of numbers or names.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns: 0:1000, or a list of numbers or names.")] = None,
    exclude: Exclude = None,
    drop_missing: DropMissing = False,
    impute: Impute = None,
    weights: Weights = None,
    offset: Offset = None,
    zero_based: ZeroBased = None,
    dtype: Annotated[str | None, typer.Option(help="float64 or float32. [default: as in the source]")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Convert SOURCE to a STORE: a folder of arrays that is opened at once and may be larger than memory.

    The store appears when it is complete.

    For example:

    fwlasso convert train.svm train.store

    fwlasso convert table.csv small.store --target price --rows 0:1000 --dtype float32
    """
    from ..datasets import convert as convert_file

    detail = Detail(as_json, quiet)
    with noting_warnings(detail), steps_of(detail) as show:
        made = convert_file(
            source,
            store,
            target=target,
            rows=_selection(rows),
            columns=_selection(columns),
            exclude=names_in(exclude) or (),
            drop_missing=drop_missing,
            impute=impute,
            weights=weights,
            offset=offset,
            zero_based="auto" if zero_based is None else zero_based,
            dtype=dtype,
            progress=show,
        )
    note_first_index(made, source, detail, zero_based)
    _print_store(made, "written", detail)


def verify(
    store: Annotated[Path, typer.Argument(help="Folder of the store.")], as_json: AsJson = False, quiet: Quiet = False
) -> None:
    """Read all of a STORE and compare it with the checksums that were written with it.

    For example:

    fwlasso verify train.store
    """
    detail = Detail(as_json, quiet)
    with steps_of(detail) as show:
        checked = verify_store(store, show)
    _print_store(checked, "unchanged", detail)


def info(source: Input, n_threads: Threads = None, as_json: AsJson = False) -> None:
    """Tell what is in FILE, a file or a store, and what a path on it would cost. All columns are read.

    For example:

    fwlasso info train.svm
    """
    from ..report.describe import describe

    detail = Detail(as_json)
    data = read_data(source, detail)
    found = describe(data, n_threads)
    if as_json:
        put_json({**found._asdict(), "first_index": data.first_index, "notices": detail.notices})
        return
    base = () if data.first_index is None else (("indices count from", str(data.first_index)),)
    weights = "" if found.weights is None else "{:g} to {:g}".format(*found.weights)
    if found.n_left_out:
        weights += f", {found.n_left_out:,} samples are left out"
    of_samples = {"weights": weights, "offset": "is taken off the response" if found.has_offset else ""}
    share = found.n_entries / (found.n_samples * found.n_features)
    table = RichTable(title=escape(str(source.file)), show_header=False)
    for name, value in (
        ("samples", f"{found.n_samples:,}"),
        ("features", f"{found.n_features:,}"),
        *base,
        *((name, value) for name, value in of_samples.items() if value),
        ("numbers stored", f"{found.n_entries:,} ({100 * share:.3g} %), {found.kind}, {found.dtype}"),
        ("size", decimal(int(found.n_bytes))),
        ("constant columns", f"{found.n_constant:,}"),
        ("copies of other columns", f"{found.n_copies:,}"),
        ("to be converted", escape(found.conversion or "nothing")),
        ("a path needs, about", f"{decimal(int(found.path_bytes))} beyond the data"),
        *((f"columns of {length} entries", f"{count:,}") for length, count in found.lengths.items()),
    ):
        table.add_row(name, value)
    detail.front().print(table)


def _selection(text: str | None) -> slice | list[Any] | None:
    """Return what an option such as 2:5, 1,7 or age,dose selects."""
    if text is None:
        return None
    ends = text.split(":")
    if 2 <= len(ends) <= 3 and all(not end or end.lstrip("-").isdigit() for end in ends):
        return slice(*(int(end) if end else None for end in ends))
    items = names_in(text) or []
    return [int(item) for item in items] if all(item.lstrip("-").isdigit() for item in items) else items


def _print_store(store: Store, what: str, detail: Detail) -> None:
    m, p = store.shape
    kind = getattr(store.X, "format", "dense")
    if detail.as_json:
        n_entries = int(store.X.nnz if kind == "csc" else store.X.size)
        record = {"n_samples": m, "n_features": p, "n_entries": n_entries, "kind": kind, "dtype": str(store.X.dtype)}
        put_json({"store": str(store.folder), **record, "first_index": store.first_index, "notices": detail.notices})
    else:
        about = f"is {what}: {m:,} samples, {p:,} features, {kind}, {store.X.dtype}"
        detail.front().print(f"[bold]{escape(str(store.folder))}[/bold] {about}", soft_wrap=True)
