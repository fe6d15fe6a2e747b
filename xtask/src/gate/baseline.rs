//! The recorded counts, and the tools that made them.

use std::{fs, path::Path};

use serde_json::{Map, Value};

use super::tools::Tools;
use crate::failure::{Context, Result};

/// Instructions of one repeat, by path, in the order of the program.
pub(super) type Counts = Vec<(String, u64)>;

/// Contents of `benches/instructions.json`.
pub(super) struct Baseline {
    pub(super) tools: Tools,
    pub(super) instructions: Counts,
}

impl Baseline {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.context(format_args!("cannot read {}", path.display()))?;
        Self::parse(&text).context(path.display())
    }

    fn parse(text: &str) -> Result<Self> {
        let object: Map<String, Value> = serde_json::from_str(text).context("is no JSON object")?;
        let counts = object.get("instructions").and_then(Value::as_object);
        let counts = counts.context("the baseline has no object `instructions`")?;
        let instructions = counts.iter().map(|(path, count)| {
            let count = count.as_u64().filter(|count| *count > 0);
            Ok((path.clone(), count.context(format_args!("{path} has no count"))?))
        });
        let instructions = instructions.collect::<Result<_>>()?;
        Ok(Self { tools: Tools::of_json(&object)?, instructions })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = self.text().context("cannot write the counts as JSON")?;
        fs::write(path, text).context(format_args!("cannot write {}", path.display()))
    }

    fn text(&self) -> serde_json::Result<String> {
        let tools = self.tools.named().map(|(name, version)| (name.to_owned(), version.into()));
        let mut object: Map<String, Value> = tools.into_iter().collect();
        let counts = self.instructions.iter().map(|(path, count)| (path.clone(), (*count).into()));
        object.insert("instructions".into(), Value::Object(counts.collect()));
        Ok(serde_json::to_string_pretty(&object)? + "\n")
    }

    pub(super) fn of(&self, path: &str) -> Option<u64> {
        self.instructions.iter().find(|(name, _)| name == path).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tools = Tools { rustc: "1.95.0".into(), cc: "12".into(), ..Tools::default() };
        let instructions = vec![("b".to_owned(), 2), ("a".to_owned(), 1)];
        let text = Baseline { tools: tools.clone(), instructions: instructions.clone() }.text();
        let read = Baseline::parse(&text.unwrap()).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((read.tools, read.instructions), (tools, instructions));
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let tools = r#""rustc":"","cc":"","libc":"","valgrind":"","processor":"""#;
        for (text, expected) in [
            ("[]".to_owned(), "is no JSON object"),
            (format!("{{{tools}}}"), "`instructions`"),
            (format!("{{{tools},\"instructions\":{{\"a\":0}}}}"), "a has no count"),
            ("{\"instructions\":{}}".to_owned(), "`rustc`"),
        ] {
            let refused = Baseline::parse(&text).err().map(|failure| failure.to_string());
            assert!(
                refused.as_ref().is_some_and(|it| it.contains(expected)),
                "{text}: {refused:?}"
            );
        }
    }
}
