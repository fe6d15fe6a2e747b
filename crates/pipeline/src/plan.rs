use fdconvert_core::Shard;

/// Which samples go into which file. A pure function of its inputs: no clock, no machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Output files, in order; together they cover every planned sample once.
    pub shards: Vec<Shard>,
}

impl Plan {
    /// All samples of the source, in its order, in one file.
    #[must_use]
    pub fn single_file(n_samples: u64) -> Self {
        Self { shards: vec![Shard { number: 0, of: 1, samples: 0..n_samples }] }
    }

    /// Number of planned samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.samples.end - shard.samples.start).sum()
    }

    /// Whether nothing is planned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
