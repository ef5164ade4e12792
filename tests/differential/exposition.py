"""Writes exposition.jsonl: made-up expositions and the samples prometheus_client's parsers read in them.

A JSON object a line: {"body": …, "samples": [[name, {label: value}, value], …]}; numbers as strings,
because JSON has neither NaN nor Inf. See README.md.
"""

import json
import random

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text

dice = random.Random(20)

NAMES = ["calls", "calls_total", "grpc_server_started_total", "a:b", "_x", "http.server.active", "a b", "é", 'q"q', "b\\s"]
VALUES = ["", "GET", "a b", "{", "}", ",", "=", 'q"', "\\", "\\n", "new\nline", "é😀", " # ", "a,b=\"c\"", "\\\\\"", "#", "\t"]
NUMBERS = ["0", "1", "-1", "3.5", "1e3", "2.5E-2", "+7", "NaN", "+Inf", "-Inf", "1700000000", "0.1", ".5", "5."]


def legacy(name):
    return all(c.isascii() and (c.isalnum() or c in "_:") for c in name) and not name[0].isdigit()


def escaped(value):
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def label(name, value, blank):
    written = name if legacy(name) and ":" not in name else f'"{escaped(name)}"'
    return f'{written}{blank()}={blank()}"{escaped(value)}"'


def series(name, labels, blank):
    parts = [label(key, value, blank) for key, value in labels.items()]
    if not legacy(name):
        parts.insert(0, f'"{escaped(name)}"')
        return "{" + blank() + (blank() + "," + blank()).join(parts) + blank() + "}"
    if not parts and dice.random() < 0.7:
        return name
    tail = "," if parts and dice.random() < 0.2 else ""
    return name + "{" + blank() + (blank() + "," + blank()).join(parts) + tail + blank() + "}"


def exposition(strict):
    blank = (lambda: "") if strict else (lambda: dice.choice(["", "", "", " ", "\t"]))
    lines = []
    for name in dice.sample(NAMES, dice.randint(1, 4)):
        written = name if legacy(name) else f'"{escaped(name)}"'
        base = written.replace("_total", "") if strict else written
        kind = "counter" if name.endswith("_total") else dice.choice(["gauge", "gauge" if strict else "untyped"])
        if strict or dice.random() < 0.7:
            lines.append(f"# TYPE {base} {kind}")
            lines.append(f"# HELP {base} Text with {{braces}} 1 and \\\\ backslash.")
        seen = set()
        for _ in range(dice.randint(1, 5)):
            keys = dice.sample(["method", "code", "le2", "a.b", "é"], dice.randint(0, 3))
            labels = {key: dice.choice(VALUES) for key in keys}
            identity = tuple(sorted((k, v) for k, v in labels.items() if v))
            if identity in seen:
                continue
            seen.add(identity)
            number = dice.choice(["0", "1", "3.5", "1e3", "1700000000"] if kind == "counter" and strict else NUMBERS)
            line = series(name, labels, blank) + " " + blank() + number
            if dice.random() < 0.2:
                line += " " + ("1700000000.123" if strict else "1700000000123")
            if strict and kind == "counter" and dice.random() < 0.4:
                line += ' # {trace_id="a,b}\\""} 0.5'
            lines.append(line + blank())
        if not strict and dice.random() < 0.3:
            lines.append(dice.choice(["", "# a comment", "#", "   "]))
    return "\n".join(lines) + ("\n# EOF\n" if strict else "\n")


def main():
    written = refused = 0
    with open("exposition.jsonl", "w", encoding="utf-8") as out:
        while written < 400:
            strict = dice.random() < 0.4
            body = exposition(strict)
            try:
                families = list((openmetrics if strict else text)(body))
            except Exception as error:  # The generator goes beyond what one of the parsers takes.
                refused += 1
                print(repr(error)[:100])
                continue
            samples = [[s.name, s.labels, str(s.value)] for family in families for s in family.samples]
            out.write(json.dumps({"body": body, "samples": samples}, ensure_ascii=False) + "\n")
            written += 1
    print(f"{written} written, {refused} refused")


main()
