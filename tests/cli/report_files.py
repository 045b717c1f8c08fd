#!/usr/bin/env python3
"""Checks the files of runs: report.json against its schema, the others as their readers would, and that nothing private
and no markup from outside stands in any. usage: report_files.py SOURCE_FOLDER PRIVATE_FOLDER MAIN HOSTILE UNMASKED"""
import html.parser
import json
import os
import pathlib
import sys
import xml.etree.ElementTree as xml

import jsonschema

root, home, main, hostile, unmasked = map(pathlib.Path, sys.argv[1:6])
schema = jsonschema.Draft202012Validator(json.loads((root / "docs/report.schema.json").read_text(encoding="utf-8")))
schema.check_schema(schema.schema)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


class Page(html.parser.HTMLParser):
    """Tags and what they name: an element of a hostile text, a handler or an address outside would be among them."""
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


for run in (main, hostile, unmasked):
    report = load(run / "report.json")
    problems = [error.message for error in schema.iter_errors(report)]
    assert not problems, (run, problems[:3])

    suites = xml.parse(run / "junit.xml").getroot()
    cases = suites.findall(".//testcase")
    assert int(suites.get("tests")) == len(cases) and suites.get("failures") == "0" and float(suites.get("time")) > 0
    assert all(case.get("name") and case.get("classname") and case.get("time") for case in cases)

    ctrf = load(run / "ctrf.json")
    summary, tests = ctrf["results"]["summary"], ctrf["results"]["tests"]
    assert ctrf["reportFormat"] == "CTRF" and ctrf["results"]["tool"]["name"] == "culprit"
    assert summary["tests"] == len(tests) == len(cases) and summary["passed"] == len(tests) and summary["start"] < summary["stop"]
    assert all(test["status"] == "passed" and isinstance(test["duration"], int) and test["suite"] for test in tests)

    events = load(run / "trace.json")["traceEvents"]
    assert events and all(event["ph"] in "MXi" for event in events)
    assert all(event["dur"] > 0 and event["ts"] >= 0 for event in events if event["ph"] == "X")
    assert {event["cat"] for event in events if event["ph"] == "X"} >= {"forward", "backward", "collective"}

    assert xml.parse(run / "matrix.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    dot = (run / "graph.dot").read_text(encoding="utf-8")
    assert dot.count("{") == dot.count("}") and "digraph" in dot

    page = Page()
    page.feed((run / "report.html").read_text(encoding="utf-8"))
    assert "img" not in page.tags and not any(name.startswith("on") for name, _ in page.attributes), run
    assert not any(name == "src" for name, _ in page.attributes), run
    markdown = (run / "report.md").read_text(encoding="utf-8")
    assert len(markdown) < 65536 and "**SILENT**" in "\n".join(markdown.splitlines()[:10])

main_head = (main / "report.md").read_text(encoding="utf-8").splitlines()[:5]
assert any(line.startswith("- **SILENT** `skip_c_identity + residual`") for line in main_head), main_head
first = load(main / "report.json")["minimal_combinations"][0]
assert first["first_bad"].startswith("with skip_c_identity + residual, stage 0, both ranks, micro-batch 0, backward: gradient of embed is off by 2.27 x")
assert load(main / "report.json")["minimal_combinations"][1]["known"]["reports"][0]["url"].endswith("/issues/59290")
form = (main / "form_deepspeed.md").read_text(encoding="utf-8")
assert "## ds_report output" in form and "- [ ]" in form

secret, folder = "0123456789abcdef0123456789abcdef01234567", str(home)
for run in (hostile, unmasked):
    texts = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in run.iterdir() if path.is_file()}
    leaks = [name for name, text in texts.items() if secret in text or folder in text]
    assert bool(leaks) == (run == unmasked), (run, leaks)
assert os.listdir(hostile / "traces")
print("all files are valid")
