//! Lists of objects, continued where an answer breaks off.
//!
//! The client repeats requests without an answer; one whose body breaks off fails. Of a hundred
//! thousand pages one would end the list.
use crate::{client::Client, count, error::is_broken_body};
use futures_util::{Stream, StreamExt as _, stream::BoxStream};
use object_store::{Error as Cause, ListResult, ObjectMeta, ObjectStore, path::Path};
use std::sync::Arc;

/// Tries, in a row, of a list that breaks off.
const TRIES: u32 = 4;

/// Returns the objects and folders right in a folder.
pub(crate) async fn right_in(client: &Client, folder: &Path) -> Result<ListResult, Cause> {
    let mut n_tries = 0;
    loop {
        count::request();
        n_tries += 1;
        match client.store.list_with_delimiter(Some(folder)).await {
            Err(cause) if n_tries < TRIES && is_broken_body(&cause) => {}
            listed => return listed,
        }
    }
}

/// All objects at any depth below a folder. A store that lists by names gives each once, also when
/// its list is continued.
pub(crate) fn below(
    client: &Client,
    folder: Path,
) -> impl Stream<Item = Result<ObjectMeta, Cause>> + Send + use<> {
    let store = client.store.clone();
    let list = List { listed: start(&store, &folder, None), store, folder, last: None, n_tries: 1 };
    futures_util::stream::unfold(list, List::next)
}

struct List {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    listed: BoxStream<'static, Result<ObjectMeta, Cause>>,
    /// The name of the last object that came.
    last: Option<Path>,
    n_tries: u32,
}

impl List {
    async fn next(mut self) -> Option<(Result<ObjectMeta, Cause>, Self)> {
        loop {
            match self.listed.next().await? {
                Ok(meta) => {
                    self.last = Some(meta.location.clone());
                    self.n_tries = 1;
                    return Some((Ok(meta), self));
                }
                Err(cause) if self.n_tries < TRIES && is_broken_body(&cause) => {
                    self.n_tries += 1;
                    self.listed = start(&self.store, &self.folder, self.last.as_ref());
                }
                Err(cause) => return Some((Err(cause), self)),
            }
        }
    }
}

fn start(
    store: &Arc<dyn ObjectStore>,
    folder: &Path,
    after: Option<&Path>,
) -> BoxStream<'static, Result<ObjectMeta, Cause>> {
    count::request();
    match after {
        None => store.list(Some(folder)),
        Some(after) => store.list_with_offset(Some(folder), after),
    }
}
