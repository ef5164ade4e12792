"""A chart, linted and rendered by Helm's own engine.

    chart.py CHART RELEASE [VALUES_AS_JSON]

Prints the manifests; on whatever lint or the engine says, that, and 1.
"""

import json
import sys

import helm_python as helm

path, release = sys.argv[1:3]
values = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
try:
    lint = helm.lint(path, values, strict=True)
    with helm.Chart.load(path) as chart:
        rendered = chart.render(values, name=release, namespace="default")
except helm.HelmError as error:
    print(error, file=sys.stderr)
    sys.exit(1)
# Helm's own numbers: 2 is a warning, 3 an error. That a chart has no icon is information.
complaints = [said for said in lint.get("messages") or [] if said["severity"] >= 2]
if complaints:
    print(json.dumps(complaints, indent=1), file=sys.stderr)
    sys.exit(1)
for name in sorted(rendered):
    if rendered[name].strip():
        print("---")
        print(rendered[name].strip())
