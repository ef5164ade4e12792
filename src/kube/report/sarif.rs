//! `-o sarif`: the Static Analysis Results Interchange Format 2.1.0 (OASIS), which code-scanning services show
//! beside the lines of a change.

use serde_json::{Value, json as object};

use super::super::check::Checked;
use super::super::finding::Finding;
use super::super::rules::catalogue::ALL;

/// One run, every rule in its catalogue.
pub fn sarif(checked: &Checked) -> Value {
    let rules = ALL.iter().map(|rule| {
        object!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.says},
            "defaultConfiguration": {"level": rule.severity.word()},
        })
    });
    let unreadable = checked
        .unreadable
        .iter()
        .map(|error| object!({"level": "error", "message": {"text": error.to_string()}}));
    object!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tidegate",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": checked.unreadable.is_empty(),
                "toolExecutionNotifications": unreadable.collect::<Vec<_>>(),
            }],
            "results": checked.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Finding) -> Value {
    let text = match finding.mend.as_str() {
        "" => finding.message.clone(),
        mend => format!("{}; {mend}", finding.message),
    };
    let mut location = object!({
        "physicalLocation": {
            "artifactLocation": {"uri": finding.file},
            "region": {"startLine": finding.line.unwrap_or(1)},
        },
    });
    if let Some(place) = &finding.place {
        location["logicalLocations"] =
            object!([{"fullyQualifiedName": format!("{} {}", place.object, place.path)}]);
    }
    object!({
        "ruleId": finding.rule.id,
        "ruleIndex": ALL.iter().position(|rule| rule.id == finding.rule.id),
        "level": finding.severity.word(),
        "message": {"text": text},
        "locations": [location],
    })
}
