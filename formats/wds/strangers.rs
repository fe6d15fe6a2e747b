//! Files among samples that are not part of one: a `README.md`, a `classes.csv`.
use crate::wds::{
    list::is_list,
    names::stem_of_image,
    shard::{Contents, Shard},
};
use std::collections::BTreeSet;

/// Above this number in one shard, they are samples.
const MAX_STRANGERS: usize = 16;

/// Drops and counts groups that have neither an image nor a field of the samples with images, as
/// long as there are few and they share no key with those samples. Otherwise one `README.md` would
/// make nearly all samples incomplete.
pub(crate) fn leave_out(shards: &mut [Shard]) {
    let mut known: BTreeSet<Vec<u8>> = BTreeSet::new();
    for shard in &*shards {
        let Contents::Scanned(scanned) = &shard.contents else { continue };
        let with_image = scanned.shapes().iter().filter(|shape| has_image(&shape.names));
        known.extend(with_image.flat_map(|shape| shape.names.iter().cloned()));
    }
    if known.is_empty() {
        return;
    }
    for shard in shards {
        let Contents::Scanned(scanned) = &mut shard.contents else { continue };
        let is_strange =
            |names: &[Vec<u8>]| !has_image(names) && names.iter().all(|name| !known.contains(name));
        let shapes = scanned.shapes().iter().map(|shape| is_strange(&shape.names));
        let strange: Vec<bool> = shapes.collect();
        if strange.contains(&true) {
            scanned.leave_out(&strange, MAX_STRANGERS);
        }
    }
}

fn has_image(names: &[Vec<u8>]) -> bool {
    names.iter().any(|name| stem_of_image(name).is_some() || is_list(name))
}
