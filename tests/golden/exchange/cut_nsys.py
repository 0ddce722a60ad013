#!/usr/bin/env python3
"""A part of what `nsys export --type sqlite` wrote, without what tells of the machine: tables as
they were, with the rows between two times (ms since the beginning) and what these refer to.
	cut_nsys.py FROM.sqlite TO.sqlite BEGIN END [TABLE_TO_LEAVE_OUT…]
"""
import re
import shutil
import sqlite3
import sys

BEGIN, END = (round(float(ms) * 1e6) for ms in sys.argv[3:5])
EVENTS = ["COMPOSITE_EVENTS", "SCHED_EVENTS", "OSRT_API", "NVTX_EVENTS", "PROFILER_OVERHEAD",
          "CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS"]
CHAINS = {"CUDA_CALLCHAINS": ("CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId"),
          "OSRT_CALLCHAINS": ("OSRT_API", "callchainId"), "SAMPLING_CALLCHAINS": ("COMPOSITE_EVENTS", "id")}
ABOUT = {"META_DATA_CAPTURE": "name LIKE 'LINUX_PERF_OPTIONS:%'",
         "META_DATA_EXPORT": "name LIKE 'EXPORT_SCHEMA_VERSION%' OR name = 'EXPORT_PRODUCT_VERSION'"}
STRINGS = ["nameId", "textId", "demangledName", "shortName", "mangledName", "symbol", "module"]
KEPT = [*EVENTS, *CHAINS, *ABOUT, "StringIds", "PROCESSES", "ThreadNames",
        "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME"]

shutil.copy(sys.argv[1], sys.argv[2])
db = sqlite3.connect(sys.argv[2])
run = db.execute
for table in sys.argv[5:]:
    run('DROP TABLE "%s"' % table)
tables = [row[0] for row in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
columns = {t: [row[1] for row in run('PRAGMA table_info("%s")' % t)] for t in tables}
threads, strings, ahead = set(), set(), 0

for table in tables:
    if table in EVENTS or (table.startswith("CUPTI_ACTIVITY_KIND_") and "start" in columns[table]):
        # What names a domain, and what made a graph, is of all times.
        keep = {"NVTX_EVENTS": " AND eventType <> 75"}.get(table, "")
        if not table.startswith("CUDA_GRAPH"):
            run('DELETE FROM "%s" WHERE NOT (start BETWEEN ? AND ?)%s' % (table, keep), (BEGIN, END))
        whose = "globalTid" if "globalTid" in columns[table] else "globalPid"
        threads |= {row[0] >> 24 for row in run('SELECT "%s" FROM "%s"' % (whose, table)) if row[0]}
for table, (of, column) in CHAINS.items():
    if table in tables:
        first = run("SELECT min(id) FROM %s" % table).fetchone()[0]
        ahead = 1 if of.startswith("CUPTI") and first == 1 else 0
        run("DELETE FROM %s WHERE id NOT IN (SELECT %s + %d FROM %s WHERE %s IS NOT NULL)"
            % (table, column, ahead, of, column))
        run("UPDATE %s SET originalIP = 0" % table)
for table, column in (("PROCESSES", "globalPid"), ("ThreadNames", "globalTid")):
    for row, whose in list(run("SELECT rowid, %s FROM %s" % (column, table))):
        if whose >> 24 not in threads:
            run("DELETE FROM %s WHERE rowid = ?" % table, (row,))
run("UPDATE PROCESSES SET name = replace(name, rtrim(name, replace(name, '/', '')), '')")
for table in tables:
    if table in ABOUT:
        run("DELETE FROM %s WHERE NOT (%s)" % (table, ABOUT[table]))
    elif table == "TARGET_INFO_GPU":
        run("UPDATE TARGET_INFO_GPU SET uuid = '00000000-0000-0000-0000-00000000000' || id")
        run("UPDATE TARGET_INFO_GPU SET %s" % ", ".join(
            "%s = CASE typeof(%s) WHEN 'text' THEN '' ELSE 0 END" % (c, c)
            for c in columns[table] if c not in ("vmId", "id", "name", "uuid", "cuDevice", "smCount")))
    elif table not in KEPT and not table.startswith("CUPTI_ACTIVITY_KIND_"):
        run('DROP TABLE "%s"' % table)
        continue
    for column in columns[table]:
        if column in STRINGS:
            strings |= {row[0] for row in run('SELECT "%s" FROM "%s"' % (column, table))}
for number, text in list(run("SELECT id, value FROM StringIds")):
    if number not in strings:
        run("DELETE FROM StringIds WHERE id = ?", (number,))
    elif re.match("0x[1-9a-f]", text):
        run("UPDATE StringIds SET value = '0x1' WHERE id = ?", (number,))
    elif text.startswith("/"):
        run("UPDATE StringIds SET value = ? WHERE id = ?", ("/lib/" + text.split("/")[-1], number))
db.commit()
run("VACUUM")
db.close()
