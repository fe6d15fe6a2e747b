use bytes::Bytes;
use fdconvert_core::Ahead;
use std::path::{Path, PathBuf};

/// Files that will be read soon, each as a whole. Those in stores are prefetched; nothing happens
/// for local files.
#[derive(Debug, Default)]
pub struct Wholes {
    #[cfg(feature = "stores")]
    objects: crate::store::Wholes,
}

impl Wholes {
    /// Announces files of at most `max_bytes` each, with their lengths if known. They are kept
    /// until the result is dropped.
    pub fn read_ahead(
        &self,
        files: impl IntoIterator<Item = (PathBuf, Option<u64>)>,
        max_bytes: u64,
    ) -> Ahead {
        let mut ahead = Ahead::default();
        #[cfg(feature = "stores")]
        {
            let away = files.into_iter().filter(|(path, _)| crate::place::is_url(path));
            let objects = away.map(|(path, len)| crate::store::Expected { path, len });
            ahead.hold(self.objects.announce(objects, max_bytes));
        }
        #[cfg(not(feature = "stores"))]
        {
            let _ = (files, max_bytes, &mut ahead);
        }
        ahead
    }

    /// Returns the bytes of an announced file, waiting for them; `None` if it has to be read.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<Bytes> {
        #[cfg(feature = "stores")]
        return self.objects.get(path);
        #[cfg(not(feature = "stores"))]
        {
            let _ = path;
            None
        }
    }
}
