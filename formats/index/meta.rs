use fdconvert_core::{Provenance, Schema};
use serde::{Deserialize, Serialize};

/// Facts about the dataset as a whole, stored once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Fields with their logical kinds and class names.
    pub schema: Schema,
    /// Record of the dataset's origin.
    pub provenance: Provenance,
    /// Identity of the run that wrote the file, if only the block can contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl Meta {
    /// Returns the bytes of the META section.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Strings, integers and maps with string keys cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses a META section and checks the schema's own rules.
    pub(crate) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let meta: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let schema = Schema::new(meta.schema.fields).map_err(|error| error.to_string())?;
        Ok(Self { schema, ..meta })
    }
}
