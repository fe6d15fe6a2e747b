//! Images with the same content: those with near hashes, compared once more.
use super::{
    Datasets,
    exact::Link,
    hash::{Levels, Looker, is_same},
    pairs,
    scan::{Scan, State, image},
};
use crate::{Context, Stage, chunk::CHUNK};
use fdconvert_core::{Error, Limits, Remark, Result};
use fdconvert_storage::sigbus;
use rayon::prelude::*;

/// Limit on distinct images with the same hash, so that many of them do not make the work
/// quadratic.
const MAX_LEADERS: usize = 32;

/// Samples with the same hash.
struct Class<'a> {
    hash: u64,
    ids: &'a [u32],
}

/// Finds pairs of samples with the same content. Of those with the same bytes only the first is
/// compared.
pub(super) fn links(
    set: &Datasets<'_>,
    scan: &mut Scan,
    exact: &[Link],
    (distance, limits): (u32, &Limits),
    context: Context<'_>,
) -> Result<Vec<Link>> {
    let is_first = |id: &u32| exact.binary_search_by_key(id, |link| link.0).is_err();
    let mut order: Vec<u32> = (0..scan.states.len() as u32)
        .filter(|id| scan.state(*id) == State::Seen)
        .filter(is_first)
        .collect();
    let hash = |id: u32| scan.hashes.get(id as usize).copied().unwrap_or(0);
    order.par_sort_unstable_by_key(|id| (hash(*id), *id));
    let classes: Vec<Class<'_>> = order
        .chunk_by(|a, b| hash(*a) == hash(*b))
        .filter_map(|ids| Some(Class { hash: hash(*ids.first()?), ids }))
        .collect();
    let hashes: Vec<u64> = classes.iter().map(|class| class.hash).collect();
    let near = pairs::near(&hashes, distance, context)?;
    let candidates = Candidates::of(set, &classes, &near, limits, context)?;

    // Only for the few classes with several samples or near hashes.
    let told_apart = |number: &u32| {
        let class = classes.get(*number as usize);
        class.map_or_else(Default::default, |class| candidates.told_apart(class))
    };
    let leaders: Vec<(Vec<u32>, Vec<Link>)> =
        candidates.classes.par_iter().map(told_apart).collect();
    let mut links: Vec<Link> = leaders.iter().flat_map(|(_, links)| links).copied().collect();
    let leaders_of = |class: u32| -> &[u32] {
        let at = candidates.classes.binary_search(&class).ok();
        at.and_then(|at| leaders.get(at)).map_or(&[], |(ids, _)| ids)
    };
    let across = |&(a, b): &pairs::Pair| {
        let pairs = leaders_of(a).iter().flat_map(|a| leaders_of(b).iter().map(move |b| (*a, *b)));
        pairs.filter(|(a, b)| candidates.is_same(*a, *b)).collect::<Vec<Link>>()
    };
    let across: Vec<Vec<Link>> = near.par_iter().map(across).collect();
    links.extend(across.into_iter().flatten());
    candidates.unreadable.into_iter().for_each(|(id, why)| scan.is_unreadable(id, why));
    Ok(links)
}

/// The levels of images with hashes near others.
struct Candidates {
    /// Classes with several samples or near hashes, in order.
    classes: Vec<u32>,
    /// Their samples, in order.
    ids: Vec<u32>,
    /// Levels of each sample; `None` if it can no longer be read.
    levels: Vec<Option<Box<Levels>>>,
    unreadable: Vec<(u32, Remark)>,
}

impl Candidates {
    fn of(
        set: &Datasets<'_>,
        classes: &[Class<'_>],
        near: &[pairs::Pair],
        limits: &Limits,
        context: Context<'_>,
    ) -> Result<Self> {
        let mut is_near: Vec<bool> = classes.iter().map(|class| class.ids.len() > 1).collect();
        for class in near.iter().flat_map(|(a, b)| [*a, *b]) {
            if let Some(is_near) = is_near.get_mut(class as usize) {
                *is_near = true;
            }
        }
        let numbered = (0_u32..).zip(is_near).filter(|(_, is_near)| *is_near);
        let chosen: Vec<u32> = numbered.map(|(number, _)| number).collect();
        let ids = chosen.iter().filter_map(|number| classes.get(*number as usize));
        let mut ids: Vec<u32> = ids.flat_map(|class| class.ids).copied().collect();
        ids.sort_unstable();
        let steps = context.progress.stage(Stage::Comparing);
        steps.total(ids.len() as u64);
        let (mut all_levels, mut unreadable) = (Vec::with_capacity(ids.len()), Vec::new());
        for chunk in ids.chunks(CHUNK as usize) {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let look = |looker: &mut Looker, id: &u32| {
                let (dataset, index) = set.place(*id);
                let looked = set.reader(dataset).map(|reader| {
                    sigbus::caught(|| {
                        let (key, image) = image(reader, index)?;
                        looker.levels(&key, &image, limits)
                    })
                });
                steps.step();
                looked
            };
            let looked: Vec<_> = chunk.par_iter().map_init(Looker::default, look).collect();
            for (id, looked) in chunk.iter().zip(looked) {
                let levels = match looked {
                    Some(Ok(levels)) => Some(Box::new(levels)),
                    Some(Err(error)) => {
                        unreadable.push((*id, error.remark()));
                        None
                    }
                    None => None,
                };
                all_levels.push(levels);
            }
        }
        Ok(Self { classes: chosen, ids, levels: all_levels, unreadable })
    }

    fn levels(&self, id: u32) -> Option<&Levels> {
        let at = self.ids.binary_search(&id).ok()?;
        self.levels.get(at)?.as_deref()
    }

    fn is_same(&self, a: u32, b: u32) -> bool {
        match (self.levels(a), self.levels(b)) {
            (Some(a), Some(b)) => is_same(a, b),
            _ => false,
        }
    }

    /// Returns the samples of a class with distinct contents, and for the others the one that each
    /// equals.
    fn told_apart(&self, class: &Class<'_>) -> (Vec<u32>, Vec<Link>) {
        let (mut leaders, mut links): (Vec<u32>, Vec<Link>) = (Vec::new(), Vec::new());
        for id in class.ids {
            match leaders.iter().find(|leader| self.is_same(**leader, *id)) {
                Some(leader) => links.push((*id, *leader)),
                None if leaders.len() < MAX_LEADERS => leaders.push(*id),
                None => {}
            }
        }
        (leaders, links)
    }
}
