//! Which shard a worker writes next.
use super::{
    heart::{Heart, Holding},
    outcome, remove_stamps,
    turn::ShardTurn,
};
use fdconvert_core::{Error, Result, Shard, ShardSummary, Skipped};
use fdconvert_pipeline::{Dataset, Identity, LeaseCounts, Next, Observer, Turns};
use fdconvert_storage::{Lease, Leases, Listing, open_all};
use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Name of the lease for completing the dataset.
pub(super) const MANIFEST: &str = "manifest";
/// Leases of others that are looked at before waiting: each look is several requests.
const LOOKS: usize = 8;

/// Takes one shard after the other.
pub(super) struct Worker<'a> {
    dataset: &'a Dataset<'a>,
    identity: &'a Identity,
    store: Arc<dyn Leases>,
    heart: Heart,
    /// Shard at which this worker begins, so that not all begin with the same one.
    start: usize,
    /// Shards that are done, or that this worker has written: what the observer was told of.
    told: BTreeSet<usize>,
    counts: LeaseCounts,
    n_lost: Arc<AtomicU64>,
    skipped: Option<Vec<Skipped>>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        dataset: &'a Dataset<'a>,
        identity: &'a Identity,
        store: Arc<dyn Leases>,
    ) -> Result<Self> {
        let heart = Heart::new(store.clone())?;
        let n_shards = dataset.plan.shards.len().max(1) as u64;
        let start = RandomState::new().hash_one(std::process::id()) % n_shards;
        Ok(Self {
            dataset,
            identity,
            store,
            heart,
            start: start as usize,
            told: BTreeSet::new(),
            counts: LeaseCounts::default(),
            n_lost: Arc::default(),
            skipped: None,
        })
    }

    pub(super) fn counts(&self) -> LeaseCounts {
        LeaseCounts { lost: self.n_lost.load(Ordering::Relaxed), ..self.counts }
    }

    /// Returns whether another worker may have taken this one for dead.
    pub(super) fn was_paused(&self) -> bool {
        self.heart.was_paused() || self.n_lost.load(Ordering::Relaxed) > 0
    }

    /// All samples that were left out, if this worker has completed the dataset.
    pub(super) fn skipped(&mut self) -> Option<Vec<Skipped>> {
        self.skipped.take()
    }

    /// Numbers of all shards, from where this worker begins.
    fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        let n_shards = self.dataset.plan.shards.len();
        (self.start..n_shards).chain(0..self.start.min(n_shards))
    }

    /// Tells the observer of shards that others have written.
    fn tell(&mut self, listing: &Listing, observer: &mut dyn Observer) {
        for (number, shard) in self.dataset.plan.shards.iter().enumerate() {
            if listing.done.contains(&name(number)) && self.told.insert(number) {
                observer.resumed(n_samples(shard));
            }
        }
    }

    /// A shard that this worker has a lease of by now; `None` if it is done already, or another's.
    fn take(
        &mut self,
        number: usize,
        lease: Lease,
        observer: &mut dyn Observer,
    ) -> Result<Option<Next<'a>>> {
        let holding = self.heart.hold(lease);
        let place = match self.place_if_open(number, &holding, observer) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(None),
            // Paused since, for long enough.
            Err(_) if holding.look() => return Ok(None),
            Err(error) => return Err(error),
        };
        self.counts.taken += 1;
        self.counts.taken_over += u64::from(holding.lease().generation > 1);
        self.told.insert(number);
        Ok(Some(Next::Write(Box::new(ShardTurn {
            dataset: self.dataset,
            identity: self.identity,
            store: self.store.clone(),
            holding,
            number,
            place,
            n_lost: self.n_lost.clone(),
        }))))
    }

    /// The place at which to write a shard that is not finished; one that is gets its note.
    fn place_if_open(
        &mut self,
        number: usize,
        holding: &Holding,
        observer: &mut dyn Observer,
    ) -> Result<Option<PathBuf>> {
        let lease = holding.lease();
        let found = match self.dataset.finished_shard(self.identity, number) {
            // Files without a record, which a worker of ours has left: they are replaced.
            Err(Error::Usage { .. }) if self.store.has_begun(&lease.name)? => None,
            found => found?,
        };
        let Some(summary) = found else { return self.store.place(lease) };
        let (out, fingerprint) = (self.dataset.out, self.identity.fingerprint);
        self.store.finish(lease, &outcome::to_text(&summary, out, fingerprint))?;
        if let Some(shard) = self.dataset.plan.shards.get(number)
            && self.told.insert(number)
        {
            observer.resumed(n_samples(shard));
        }
        Ok(None)
    }

    /// Takes over the lease of that name if it is stale.
    fn take_over(&self, name: &str) -> Result<Option<Lease>> {
        match self.store.look(name)? {
            Some(seen) if seen.is_stale() => self.store.take_over(&seen),
            _ => Ok(None),
        }
    }

    /// Completes the dataset, if no other worker does; `None` while one does.
    fn complete(&mut self, is_leased: bool) -> Result<Option<Next<'a>>> {
        let lease =
            if is_leased { self.take_over(MANIFEST)? } else { self.store.create(MANIFEST)? };
        let Some(lease) = lease else { return Ok(None) };
        let holding = self.heart.hold(lease);
        // By another worker meanwhile, or by one that was paused or killed behind the manifest.
        if self.is_complete()? {
            remove_stamps(self.dataset.out)?;
            self.finish(holding)?;
            return Ok(Some(Next::End));
        }
        let numbers: Vec<usize> = (0..self.dataset.plan.shards.len()).collect();
        let outcomes = open_all(self.dataset.out, &numbers, |number| self.outcome(&name(*number)));
        let mut shards = Vec::with_capacity(numbers.len());
        for ((number, shard), outcome) in (0..).zip(&self.dataset.plan.shards).zip(outcomes) {
            match outcome? {
                Some(summary) => shards.push((shard.clone(), summary)),
                // A power failure may have cut the note. The shard is looked at again.
                None => {
                    self.store.forget(&name(number))?;
                    return Ok(Some(Next::Wait(Duration::ZERO)));
                }
            }
        }
        match self.dataset.complete(&shards) {
            Ok(_) => {}
            Err(_) if holding.look() => return Ok(None),
            Err(error) => return Err(error),
        }
        self.finish(holding)?;
        let skipped = shards.into_iter().flat_map(|(_, summary)| summary.skipped);
        self.skipped = Some(skipped.collect());
        self.counts.completed = true;
        Ok(Some(Next::End))
    }

    fn outcome(&self, name: &str) -> Result<Option<ShardSummary>> {
        let text = self.store.outcome(name)?.unwrap_or_default();
        Ok(outcome::parse(&text, self.dataset.out, self.identity.fingerprint))
    }

    pub(super) fn is_complete(&self) -> Result<bool> {
        self.dataset.format.completed(self.dataset.out, self.identity.fingerprint)
    }

    fn finish(&self, holding: Holding) -> Result<()> {
        self.store.clear(MANIFEST)?;
        drop(holding);
        Ok(())
    }
}

impl<'a> Turns<'a> for Worker<'a> {
    fn next(&mut self, observer: &mut dyn Observer) -> Result<Next<'a>> {
        let Some(listing) = self.store.list()? else {
            // The leases go when the dataset is complete.
            if self.is_complete()? {
                return Ok(Next::End);
            }
            self.store.prepare()?;
            return self.find(&Listing::default(), observer);
        };
        match self.find(&listing, observer) {
            // Another worker has completed the dataset and removed the folder meanwhile.
            Err(_) if matches!(self.store.list(), Ok(None)) => Ok(Next::Wait(Duration::ZERO)),
            found => found,
        }
    }
}

impl<'a> Worker<'a> {
    /// Returns what to do next, by what the leases say now.
    fn find(&mut self, listing: &Listing, observer: &mut dyn Observer) -> Result<Next<'a>> {
        let pause = (self.store.lasts() / 8).min(Duration::from_secs(1));
        self.tell(listing, observer);
        // Who completes the dataset has seen all shards done, and is about to remove the notes.
        if listing.leased.contains(MANIFEST) {
            return Ok(self.complete(true)?.unwrap_or(Next::Wait(pause)));
        }
        let open: Vec<usize> =
            self.numbers().filter(|number| !listing.done.contains(&name(*number))).collect();
        if open.is_empty() {
            return Ok(self.complete(false)?.unwrap_or(Next::Wait(pause)));
        }
        let (leased, free): (Vec<usize>, Vec<usize>) =
            open.into_iter().partition(|number| listing.leased.contains(&name(*number)));
        for number in free {
            if let Some(lease) = self.store.create(&name(number))?
                && let Some(next) = self.take(number, lease, observer)?
            {
                return Ok(next);
            }
        }
        // Others than the last time.
        self.start = leased.get(LOOKS).copied().unwrap_or(self.start);
        for number in leased.into_iter().take(LOOKS) {
            if let Some(lease) = self.take_over(&name(number))?
                && let Some(next) = self.take(number, lease, observer)?
            {
                return Ok(next);
            }
        }
        Ok(Next::Wait(pause))
    }
}

/// The name of the lease of a shard.
fn name(number: usize) -> String {
    format!("shard-{number:06}")
}

fn n_samples(shard: &Shard) -> u64 {
    shard.samples.end - shard.samples.start
}
