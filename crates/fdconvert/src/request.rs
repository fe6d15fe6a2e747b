//! The plan request of the options.
use crate::{
    PackOptions,
    options::{Per, SplitShare},
};
use fdconvert_core::option;
use fdconvert_pipeline::{PlanRequest, Selection, ShardBy, Sharding, Split};

/// Returns the request as far as the options define it, without listed samples.
pub(crate) fn plan_request(options: &PackOptions) -> PlanRequest {
    let by = match (options.shard_count, options.shard_size, options.shards) {
        (Some(count), ..) => ShardBy::Count(count),
        (_, Some(size), _) => ShardBy::Bytes(size.0),
        (_, _, Some(number)) => ShardBy::Number(number),
        (None, None, None) => Sharding::default().by,
    };
    let split = |part: &SplitShare| match part {
        SplitShare::Part(name, share) => Some(Split { name: name.clone(), share: share.get() }),
        SplitShare::DropRest => None,
    };
    let choices = [
        options.keys.as_ref().map(|_| option::KEYS),
        options.r#where.as_ref().map(|_| option::WHERE),
        options.dedup.map(|_| option::DEDUP),
    ];
    let splits: Vec<Split> = options.split.iter().filter_map(split).collect();
    PlanRequest {
        selection: Selection {
            listed: None,
            listed_by: choices.into_iter().flatten().collect(),
            share: options.sample.map(|share| (share.get(), options.seed)),
            per_class: options.per == Some(Per::Class),
        },
        shuffle: options.shuffle.then_some(options.seed),
        drop_rest: splits.len() < options.split.len(),
        splits,
        only_split: None,
        mix_splits: options.no_split_folders,
        split_seed: options.seed,
        sharding: Sharding { by, multiple_of: options.shards_multiple_of },
        balance: None,
        on_error: None,
    }
}
