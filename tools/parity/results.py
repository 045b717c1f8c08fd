"""Rows of results, and the files they stand in: the format of a cells file (docs/schemas.md)."""
import csv
import os

from cells import AXES, NAMES, UsageError, key, to_texts, why_impossible, with_defaults

RESULT_COLUMNS = ("outcome", "kind", "where", "loss", "worst", "checksum", "freed")
# Beside these a record has `ties`: of a wrong gradient the parameters that deviate as much as the worst, but for
# rounding; and `rounding`: how far float32 on one rank is off for this cell, relative.
RECORD_COLUMNS = RESULT_COLUMNS + ("ties", "rounding")
IGNORED_COLUMNS = RECORD_COLUMNS + ("detail", "framework")


def class_of(row):
    """(outcome, kind): what a sample has enough of each."""
    return row["outcome"], row["kind"]


def class_name(its_class):
    return " ".join(part for part in its_class if part)


def read_cells(path):
    """The cells of a file. Errors: UsageError with the line."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            unknown = [name for name in reader.fieldnames or () if name not in NAMES + IGNORED_COLUMNS]
            if not reader.fieldnames or unknown:
                got = f"unknown column '{unknown[0]}'" if unknown else "no header"
                raise UsageError(f"{path}: line 1: {got}, known are {', '.join(NAMES)} and the result columns")
            return [_cell_of(row, f"{path}: line {reader.line_num}") for row in reader]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read: {error}") from None


def _cell_of(row, place):
    if None in row or None in row.values():
        raise UsageError(f"{place}: another number of values than the header has")
    try:
        cell = with_defaults({axis.name: axis.parse(row[axis.name]) for axis in AXES if axis.name in row})
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    if reason := why_impossible(cell):
        raise UsageError(f"{place}: {reason}")
    return cell


def write_cells(path, cells, rows=None):
    """Toggles and, if given, results. Written beside its place and renamed."""
    partial = f"{path}.partial"
    with open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(NAMES + (RESULT_COLUMNS if rows else ()))
        for i, cell in enumerate(cells):
            writer.writerow(to_texts(cell) + ([rows[i][name] for name in RESULT_COLUMNS] if rows else []))
    os.replace(partial, path)


class Record:
    """What a framework did, one line a cell, appended as cells finish: a run that was stopped goes on where it was.
    One file holds one framework's rows. Without a path nothing is kept."""

    HEADER = ("framework",) + NAMES + RECORD_COLUMNS

    def __init__(self, path, framework):
        self._path, self._framework = path, framework
        self.rows = {}  # by key of the cell
        if path is None:
            self._file = None
            return
        kept = self._read() if os.path.exists(path) else []
        try:
            # Rewritten first: a line that was cut must not stay under what is appended.
            self._file = open(f"{path}.partial", "w", newline="", encoding="utf-8")
            self._writer = csv.writer(self._file, lineterminator="\n")
            self._writer.writerow(self.HEADER)
            self._writer.writerows(kept)
            self._file.flush()
            os.replace(f"{path}.partial", path)
        except OSError as error:
            raise UsageError(f"{path}: can't be written: {error}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._file:
            self._file.close()

    def _read(self):
        with open(self._path, newline="", encoding="utf-8") as file:
            text = file.read()
        lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))  # a line without its end was cut by a kill
        if lines and tuple(lines[0]) != self.HEADER:
            raise UsageError(f"{self._path}: is no record of this tool; name another file")
        kept = []
        for number, values in enumerate(lines[1:], start=2):
            if len(values) != len(self.HEADER):
                raise UsageError(f"{self._path}: line {number}: {len(values)} values, expected {len(self.HEADER)}")
            row = dict(zip(self.HEADER, values))
            if row["framework"] != self._framework:
                raise UsageError(f"{self._path}: holds {row['framework']}, not {self._framework}; name another file")
            kept.append(values)
            self.rows[key(_cell_of({n: row[n] for n in NAMES}, f"{self._path}: line {number}"))] = row
        return kept

    def add(self, cell, row):
        self.rows[key(cell)] = row
        if self._file:
            values = [row[name] for name in RECORD_COLUMNS]
            self._writer.writerow([self._framework] + to_texts(cell) + values)
            self._file.flush()
