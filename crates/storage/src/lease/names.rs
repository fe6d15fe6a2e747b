//! The names in a folder of leases: what has another name is not of fdconvert, and stays.

/// Meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// `NAME.GENERATION.lease`
    Lease(&'a str, u64),
    /// `NAME.held`: a lease in a store.
    Held(&'a str),
    /// `NAME.ID.place`: the folder in which the worker ID writes.
    Place,
    /// `NAME.ID.gone`: the place of a worker that has lost its lease, on its way out.
    Gone,
    /// `NAME.done`: the work is done.
    Done(&'a str),
    /// `NAME.begun`: some of its files may have their names in the dataset.
    Begun(&'a str),
    /// `NAME.ID.new`: unfinished form of one of these.
    New,
    /// `ID.clock`: what a worker writes to learn the time of the file system.
    Clock,
}

impl<'a> Entry<'a> {
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let (rest, kind) = name.rsplit_once('.')?;
        if kind == "clock" {
            return is_id(rest).then_some(Self::Clock);
        }
        let of_name: Option<fn(&'a str) -> Self> = match kind {
            "held" => Some(Self::Held),
            "done" => Some(Self::Done),
            "begun" => Some(Self::Begun),
            _ => None,
        };
        if let Some(entry) = of_name {
            return is_name(rest).then(|| entry(rest));
        }
        let (name, middle) = rest.rsplit_once('.').filter(|(name, _)| is_name(name))?;
        match kind {
            "lease" => Some(Self::Lease(name, middle.parse().ok()?)),
            "place" if is_id(middle) => Some(Self::Place),
            "gone" if is_id(middle) => Some(Self::Gone),
            "new" if is_id(middle) => Some(Self::New),
            _ => None,
        }
    }

    /// Returns whether it is a folder.
    pub(super) fn is_folder(self) -> bool {
        matches!(self, Self::Place | Self::Gone)
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

pub(super) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_stand_for_nothing() {
        let id = "0123456789abcdef0123456789abcdef";
        let parsed = |name: &str| Entry::parse(name).is_some();
        assert_eq!(Entry::parse("shard-000012.3.lease"), Some(Entry::Lease("shard-000012", 3)));
        assert_eq!(Entry::parse("manifest.done"), Some(Entry::Done("manifest")));
        assert!(parsed(&format!("shard-1.{id}.place")) && parsed(&format!("{id}.clock")));
        for foreign in ["notes.txt", "a.lease", "a.b.lease", ".done", "A.done", "a.1.place", "x"] {
            assert!(!parsed(foreign), "{foreign}");
        }
        assert!(!parsed(&format!("../a.{id}.place")));
    }
}
