//! The outcomes of options that need a file or the source.
use crate::{choose::Chosen, keys::ListedKeys, ratio::Settled};
use serde::{Deserialize, Serialize};

/// Outcomes of options that needed a file or the source. Plan files keep them, so that a run of the
/// plan need not read these again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<Settled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<ListedKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chosen: Option<Chosen>,
}
