"""Calls of traced APIs in a trace, as `aflame print --json` gives them."""

import json

from recording import must


class Call:
    """One call, and what is known of it."""

    def __init__(self, event):
        self.name, self.pid, self.tid = event["kind"], event["pid"], event["tid"]
        fields = event["fields"]
        self.depth, self.flags, self.result = fields["depth"], fields["flags"], fields.get("result")
        self.args = fields["args"]
        self.begin, self.end = fields["begin_ns"], fields["begin_ns"] + fields["duration_ns"]

    def __repr__(self):
        return "%s%s" % (self.name, self.args)


def calls_of(run, prefix="cl"):
    """In the order in which they ended."""
    text = must("print", "--json", run.path)
    events = (json.loads(line) for line in text.splitlines())
    return [Call(e) for e in events if "args" in e["fields"] and e["kind"].startswith(prefix)]
