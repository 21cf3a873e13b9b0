"""Reads metrics as Prometheus does, and prints them as JSON: {"NAME": {"LOCK": value}}; no label: "".

Fails where the text format, version 0.0.4, is stricter than Prometheus's parser.
"""

import json
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

text = sys.stdin.buffer.read().decode("utf-8")
assert text.endswith("\n") and "\r" not in text and "\0" not in text
heads, groups, seen = [], [], set()
for line in text.removesuffix("\n").split("\n"):
    head = re.fullmatch(r"# (HELP|TYPE) (\S+) (\S.*)", line)
    if head:
        heads.append(head[1] + " " + head[2])
        if head[1] == "HELP":
            groups.append(head[2])
        else:
            assert (head[3] == "counter") == head[2].endswith("_total"), line
        continue
    sample = re.fullmatch(r'([a-z_]+)(\{lock="(?:[^"\\]|\\[\\"n])+"\})? (\d+(?:\.\d+)?|\+Inf)', line)
    assert sample, f"no sample: {line}"
    assert groups[-1:] == [sample[1]], f"out of place: {line}"
    assert (sample[1], sample[2]) not in seen, f"twice: {line}"
    seen.add((sample[1], sample[2]))
assert heads == [f"{kind} {name}" for name in groups for kind in ("HELP", "TYPE")], heads
assert len(groups) == len(set(groups)), groups

metrics = {}
for family in text_string_to_metric_families(text):
    for sample in family.samples:
        value = "+Inf" if sample.value == float("inf") else sample.value
        value = int(value) if value != "+Inf" and value == int(value) else value
        metrics.setdefault(sample.name, {})[sample.labels.get("lock", "")] = value
assert sum(map(len, metrics.values())) == len(seen)
json.dump(metrics, sys.stdout, ensure_ascii=False)
