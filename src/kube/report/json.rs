//! `-o json`

use serde_json::{Value, json as object};

use super::super::check::Checked;

/// `{"findings": [{rule, name, severity, file, line, document, object, path, message, mend}], "unreadable": […]}`
pub fn json(checked: &Checked) -> Value {
    let findings = checked.findings.iter().map(|finding| {
        let place = finding.place.as_ref();
        object!({
            "rule": finding.rule.id,
            "name": finding.rule.name,
            "severity": finding.severity.word(),
            "file": finding.file,
            "line": finding.line,
            "document": place.map(|place| place.document),
            "object": place.map(|place| &place.object),
            "path": place.map(|place| &place.path),
            "message": finding.message,
            "mend": finding.mend,
        })
    });
    let unreadable = checked
        .unreadable
        .iter()
        .map(|error| Value::String(error.to_string()));
    object!({
        "findings": findings.collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
    })
}
