"""Files of cells and records: what is read, what is refused, what survives a kill."""
import os
import tempfile
import unittest

from parity_support import RECORDED, cell, row

from cells import UsageError, key
from results import Record, read_cells, write_cells


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "cells.csv")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_recorded_file_is_read(self):
        cells = read_cells(RECORDED)
        self.assertEqual(len(cells), 4276)
        self.assertEqual(cells[0]["blocks"], 2)

    def test_written_cells_are_read_back(self):
        cells = [cell(), cell(tp=4, loss_scale=0.5, loss_division="delayed")]
        write_cells(self.path, cells, [row(), row()])
        self.assertEqual(read_cells(self.path), cells)

    def test_bad_files_are_refused_with_their_line(self):
        for text, words in (("tp,skip\n2,1\n", "line 1: unknown column 'skip'"), ("", "line 1: no header"),
                            ("tp\n2\nx\n", "line 3: tp: got 'x'"), ("tp,pp\n2\n", "line 2: another number"),
                            ("tp,hidden\n3,8\n", "line 2: tp 3 can't split 8")):
            with self.subTest(text):
                self.write(text)
                with self.assertRaisesRegex(UsageError, words):
                    read_cells(self.path)
        with self.assertRaisesRegex(UsageError, "can't be read"):
            read_cells(self.path + ".not")

    def record(self, *cells, framework="paddle@3.3.1", **given):
        """Opens the record, adds cells, closes it; its rows."""
        with Record(self.path, framework) as record:
            for each in cells:
                record.add(each, row(**given))
            return record.rows

    def test_record_keeps_rows_from_run_to_run(self):
        self.record(cell(), ties="a b")
        self.assertEqual(self.record(cell(tp=4))[key(cell())]["ties"], "a b")
        self.assertEqual(len(self.record()), 2)

    def test_record_drops_a_line_that_was_cut(self):
        self.record(cell())
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("paddle@3.3.1,4,2,")
        self.assertEqual(len(self.record()), 1)
        self.record(cell(tp=8))
        self.assertEqual(len(self.record()), 2)

    def test_record_of_another_framework_or_file_is_refused_and_left_alone(self):
        self.record(cell(), framework="paddle@2.6.2")
        with open(self.path, encoding="utf-8") as file:
            before = file.read()
        with self.assertRaisesRegex(UsageError, "holds paddle@2.6.2, not paddle@3.3.1"):
            self.record()
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.write("a,b\n1,2\n")
        with self.assertRaisesRegex(UsageError, "is no record"):
            self.record()


if __name__ == "__main__":
    unittest.main()
