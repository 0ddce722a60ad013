#!/usr/bin/env python3
"""What must hold of differences: check.py none < JSON; opposite THERE BACK; harmless SVG HTML TEXT"""
import json
import sys
import xml.etree.ElementTree as tree


def tables(text):
    """The document's tables by name, rows as dictionaries."""
    return {t["name"]: t["rows"] for t in json.loads(text)["tables"]}


def check_none(t):
    assert t["total"][0]["change"] == 0 and t["total"][0]["kind"] == "same", t["total"]
    assert t["functions"], "no functions"
    for row in t["functions"]:
        assert row["self_change"] == row["total_change"] == 0, row
        assert row["self"] == row["total"] == "same", row
    assert not t["new"] and not t["vanished"], t


OPPOSITE = {"grew": "shrank", "shrank": "grew", "new": "vanished", "vanished": "new"}


def check_opposite(there, back):
    by_id = {row["id"]: row for row in back["functions"]}
    assert len(by_id) == len(there["functions"]) == len(back["functions"])
    for row in there["functions"]:
        other = by_id[row["id"]]
        for what in ("self", "total"):
            assert row[what + "_change"] == -other[what + "_change"], (row, other)
            assert row[what + "_before"] == other[what + "_after"], (row, other)
            assert row[what + "_noise"] == other[what + "_noise"], (row, other)
            assert OPPOSITE.get(row[what], row[what]) == other[what], (row, other)
            assert row[what + "_after"] - row[what + "_before"] == row[what + "_change"], row
    assert sum(row["self_change"] for row in there["functions"]) == there["total"][0]["change"]
    for one, other in (("new", "vanished"), ("vanished", "new")):
        key = lambda row: (row["id"], row["path"], row["total"])
        assert sorted(map(key, there[one])) == sorted(map(key, back[other])), one


def check_harmless(svg, html, text):
    tree.parse(svg)
    with open(html, "rb") as f:
        page = f.read()
    assert b"<script>alert" not in page and b"<b>" not in page.split(b"<script>")[0]
    with open(text, "rb") as f:
        assert not any(c < 32 and c != 10 for c in f.read()), "control characters"


if sys.argv[1] == "none":
    check_none(tables(sys.stdin.read()))
elif sys.argv[1] == "opposite":
    check_opposite(*(tables(open(name, encoding="utf-8").read()) for name in sys.argv[2:]))
else:
    check_harmless(*sys.argv[2:])
