#!/usr/bin/env python3
"""What must hold of differences: check.py none < JSON; opposite THERE BACK; harmless SVG HTML TEXT"""
import json
import sys
import xml.etree.ElementTree as tree


def tables(text):
    """The document's tables by name, rows as dictionaries."""
    return {
        t["name"]: [dict(zip([c["title"] for c in t["columns"]], row)) for row in t["rows"]]
        for t in json.loads(text)["tables"]
    }


def check_none(t):
    assert t["total"][0]["Change"] == 0 and t["total"][0]["Change is"] == "same", t["total"]
    assert t["functions"], "no functions"
    for row in t["functions"]:
        assert row["Self change"] == row["Total change"] == 0, row
        assert row["Self"] == row["Total"] == "same", row
    assert not t["new"] and not t["vanished"], t


OPPOSITE = {"grew": "shrank", "shrank": "grew", "new": "vanished", "vanished": "new"}


def check_opposite(there, back):
    by_id = {row["Id"]: row for row in back["functions"]}
    assert len(by_id) == len(there["functions"]) == len(back["functions"])
    for row in there["functions"]:
        other = by_id[row["Id"]]
        for what in ("Self", "Total"):
            assert row[what + " change"] == -other[what + " change"], (row, other)
            assert row[what + " before"] == other[what + " after"], (row, other)
            assert row[what + " noise"] == other[what + " noise"], (row, other)
            assert OPPOSITE.get(row[what], row[what]) == other[what], (row, other)
            assert row[what + " after"] - row[what + " before"] == row[what + " change"], row
    assert sum(row["Self change"] for row in there["functions"]) == there["total"][0]["Change"]
    for one, other in (("new", "vanished"), ("vanished", "new")):
        key = lambda row: (row["Id"], row["Path"], row["Total"])
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
