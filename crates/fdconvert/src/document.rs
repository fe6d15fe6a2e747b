//! The results of a run as one JSON document: `docs/json.md` is the contract.
use serde_json::{Map, Value, json};

/// Version of the documents; raised when a key changes its meaning or is removed.
const VERSION: u32 = 1;

/// Returns a document: its kind, its version, and its fields.
#[must_use]
pub fn document(what: &str, fields: Map<String, Value>) -> Value {
    let mut whole = Map::new();
    whole.insert("document".into(), json!(format!("fdconvert-{what}")));
    whole.insert("version".into(), json!(VERSION));
    whole.extend(fields);
    Value::Object(whole)
}
