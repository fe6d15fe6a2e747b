use super::{Combined, Place, total};
use crate::shards::versions::Files;
use bytes::Bytes;
use fdconvert_storage::{Blob, open_all, place::is_url};
use std::{
    ops::Range,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

/// Bytes of a request, unless a single block is longer. Stores answer a request after some ten
/// milliseconds and then send about 100 MB per second, so that larger ones gain little.
const REQUEST_BYTES: u64 = 16 << 20;

/// The blocks of a dataset in a store, all of them read when the first one is needed.
///
/// A missing or damaged block, or one of another shard, is not an error: the shard's own index is
/// read instead, and [`problem`](Self::problem) returns the reason.
#[derive(Debug)]
pub(crate) struct Blocks {
    path: PathBuf,
    combined: Combined,
    /// For each shard its block, or why there is none.
    read: OnceLock<Vec<Result<Bytes, String>>>,
    /// The first shard with an unused block, and the reason.
    problem: Mutex<Option<(usize, String)>>,
}

impl Blocks {
    /// Creates the blocks of the dataset in `folder`, if its manifest has a combined index. `None`
    /// for files: mapping the index of each shard is as fast as a part of a large file.
    pub(crate) fn of(files: &Files, combined: Option<&Combined>) -> Option<Self> {
        let combined = combined.filter(|_| is_url(&files.folder()))?.clone();
        let path = files.path(&combined.name);
        Some(Self { path, combined, read: OnceLock::new(), problem: Mutex::default() })
    }

    /// Parses the block of a shard with `parse`; `None` if only its own file has it, it is missing, or `parse` finds that it
    /// belongs to another shard.
    pub(crate) fn take<T>(
        &self,
        number: usize,
        parse: impl FnOnce(Bytes) -> Result<T, String>,
    ) -> Option<T> {
        let block = self.combined.block(number)?;
        let read = self.read.get_or_init(|| self.read_all());
        let missing = || Err("the manifest does not list its block".to_owned());
        let block = read.get(block).cloned().unwrap_or_else(missing);
        match block.and_then(parse) {
            Ok(parsed) => Some(parsed),
            Err(what) => {
                self.note(number, what);
                None
            }
        }
    }

    /// Returns why blocks requested so far were not used.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, what) = problem.as_ref()?;
        Some(format!(
            "{}: shard {number}: {what}; the shard's own index is read",
            self.path.display()
        ))
    }

    fn note(&self, number: usize, what: String) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        // Threads come in any order.
        if problem.as_ref().is_none_or(|(first, _)| number < *first) {
            *problem = Some((number, what));
        }
    }

    fn read_all(&self) -> Vec<Result<Bytes, String>> {
        // The sum was checked with the manifest.
        let places = self.combined.places().unwrap_or_default();
        let blob = match Blob::open_with_len(&self.path, total(&places)) {
            Ok(blob) => blob,
            Err(error) => return vec![Err(error.chain()); places.len()],
        };
        let read = |shards: &Range<usize>| {
            let places = places.get(shards.clone()).unwrap_or_default();
            cut(&blob, places)
        };
        open_all(&self.path, &requests(&places), read).concat()
    }
}

/// Groups neighbours that are read together.
fn requests(places: &[Place]) -> Vec<Range<usize>> {
    let mut requests: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for (number, place) in places.iter().enumerate() {
        match requests.last_mut() {
            Some(last) if place.end - start <= REQUEST_BYTES => last.end = number + 1,
            _ => {
                requests.push(number..number + 1);
                start = place.offset;
            }
        }
    }
    requests
}

/// Reads consecutive blocks with one request.
fn cut(blob: &Blob, places: &[Place]) -> Vec<Result<Bytes, String>> {
    let start = places.first().map_or(0, |place| place.offset);
    let short = || "it ends before its blocks do".to_owned();
    let bytes = match blob.read(start, total(places) - start) {
        Ok(bytes) => bytes.ok_or_else(short),
        Err(error) => Err(error.chain()),
    };
    let part = bytes.map(Blob::from);
    let block = |place: &Place| {
        let read = part.clone()?.read(place.offset - start, place.len);
        read.map_err(|error| error.chain())?.ok_or_else(short)
    };
    places.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn places(lengths: &[u64]) -> Vec<Place> {
        let lengths = lengths.to_vec();
        Combined { name: "x".into(), lengths, blocks: None }.places().unwrap()
    }

    #[test]
    fn requests_are_of_neighbours_and_bounded() {
        let third = REQUEST_BYTES / 3;
        let found = requests(&places(&[third, third, third - 8, 8, 2 * REQUEST_BYTES, 1, 2]));
        assert_eq!(found, [0..3, 3..4, 4..5, 5..7]);
        assert!(requests(&[]).is_empty());
    }

    #[test]
    fn blocks_are_cut_or_missing() {
        let blob = Blob::from(Bytes::from_static(b"abc\0\0\0\0\0defghijk"));
        let all = places(&[3, 8]);
        let found: Vec<_> = cut(&blob, &all).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [&b"abc"[..], b"defghijk"]);
        assert_eq!(cut(&blob, &all[1..])[0].as_ref().unwrap(), &b"defghijk"[..]);
        let short = places(&[3, 8, 1]);
        assert!(cut(&blob, &short).iter().all(Result::is_err));
        assert!(cut(&blob, &[]).is_empty());
    }

    #[test]
    fn files_have_no_use_for_it() {
        let combined = Combined { name: "x".into(), lengths: vec![1], blocks: None };
        let of = |folder: &str, combined| Blocks::of(&Files::plain(Path::new(folder)), combined);
        assert!(of("here", Some(&combined)).is_none());
        assert!(of("s3://b/there", None).is_none());
        assert!(of("s3://b/there", Some(&combined)).is_some());
    }
}
