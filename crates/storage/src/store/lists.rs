//! Lists of objects that resume after an interrupted answer.
//!
//! The client repeats requests without an answer, but fails on an interrupted body. A list of a
//! hundred thousand pages would fail because of one.
use crate::store::{
    client::Client,
    count,
    error::is_broken_body,
    location::{Base, Location},
    odd::{Around, leave_out},
};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, future::ready, stream::BoxStream};
use object_store::{Error as Cause, ListResult, ObjectMeta, ObjectStore, path::Path};
use std::sync::Arc;

/// Consecutive tries of an interrupted list.
const TRIES: u32 = 4;

/// Returns the objects and folders directly in a folder.
pub(crate) async fn right_in(client: &Client, folder: &Location) -> Result<ListResult, Cause> {
    let Location { base, key, .. } = folder;
    let mut n_tries = 0;
    let mut listed = loop {
        count::request();
        n_tries += 1;
        match client.store.list_with_delimiter(Some(key)).await {
            Err(cause) if n_tries < TRIES && is_broken_body(&cause) => {}
            Err(cause) => {
                let mut around = Around::of(client, base, key, false, None, cause)?;
                let mut listed = around.next().await?.unwrap_or_else(nothing);
                while let Some(page) = around.next().await? {
                    listed.objects.extend(page.objects);
                    listed.common_prefixes.extend(page.common_prefixes);
                }
                break listed;
            }
            Ok(listed) => break listed,
        }
    };
    // The client misreads names that begin with a slash.
    let n_folders = listed.common_prefixes.len();
    listed.common_prefixes.retain(|folder| !folder.as_ref().is_empty());
    if listed.common_prefixes.len() < n_folders {
        leave_out(base, "/");
    }
    Ok(listed)
}

fn nothing() -> ListResult {
    let (common_prefixes, objects, extensions) = Default::default();
    ListResult { common_prefixes, objects, extensions }
}

/// Lists all objects at any depth below a folder. A store that lists in name order returns each one
/// once, even when its list is resumed.
pub(crate) fn below(
    client: &Client,
    base: &Base,
    folder: Path,
) -> impl Stream<Item = Result<ObjectMeta, Cause>> + Send + use<> {
    let (client, base) = (client.clone(), base.clone());
    let listed = start(&client.store, &folder, None);
    let list = List { client, base, listed, folder, last: None, n_tries: 1 };
    futures_util::stream::unfold(list, List::next)
}

struct List {
    client: Client,
    base: Base,
    folder: Path,
    listed: BoxStream<'static, Result<ObjectMeta, Cause>>,
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
                    self.listed = start(&self.client.store, &self.folder, self.last.as_ref());
                }
                Err(cause) => match self.around(cause) {
                    Ok(listed) => self.listed = listed,
                    Err(cause) => return Some((Err(cause), self)),
                },
            }
        }
    }

    /// Continues a list that has failed because of a name.
    fn around(&self, cause: Cause) -> Result<BoxStream<'static, Result<ObjectMeta, Cause>>, Cause> {
        let last = self.last.clone();
        let around =
            Around::of(&self.client, &self.base, &self.folder, true, last.as_ref(), cause)?;
        let pages = futures_util::stream::try_unfold(around, |mut around| async move {
            let page = around.next().await?;
            Ok::<_, Cause>(page.map(|page| (page, around)))
        });
        let objects = pages.map_ok(|page| futures_util::stream::iter(page.objects).map(Ok));
        // A folder's own name loses its slash, and is listed again.
        let is_new = move |meta: &ObjectMeta| ready(Some(&meta.location) != last.as_ref());
        Ok(objects.try_flatten().try_filter(is_new).boxed())
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
