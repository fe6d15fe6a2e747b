//! The order of samples: the sample at each step on each rank, and resuming after a stop.
//!
//! Everything here is arithmetic on 64-bit numbers: nothing is read, and every rank, thread and
//! worker process with the same few numbers computes the same order without a message. This is why a
//! checkpoint of 40 bytes is enough. A list of samples is kept only where a [`Sampling`] is one, or
//! needs a class or a weight for each.
//!
//! # Definition of the order
//!
//! A dataset is cut into **strata**: groups of samples with equal cost, such as "stored as JPEG"
//! and "stored raw", or "cached" and "not cached". A stratum has `len` samples, with the ids
//! `0..len`, and gives `count` of them to an epoch. The `N` draws of all strata form one line, and
//! a sample's **position** is its place in that line.
//!
//! ```text
//! hash(key, purpose, a, b) = XXH3-64 of the 24 bytes LE64(purpose) LE64(a) LE64(b), seed = key
//!                            purposes: 1 stratum, 2 pass, 3 chunks, 4 block, 5 batch,
//!                                      6 fingerprint, 7 resident, 8 regions, 9 turn, 10 class,
//!                                      11 draw, 12 arrival
//!
//! permutation(n, key): a bijection of 0..n                                      permutation.rs
//!     bits = bit length of n - 1, at least 6; low = ceil(bits / 2) bits, high = the rest
//!     k_1.. k_8 = SplitMix64 started at key
//!     repeat                                  # A Feistel network, walked until the value fits.
//!         8 rounds, k in order: odd:  low  ^= scramble(high ^ k) mod 2^(bits of low)
//!                               even: high ^= scramble(low  ^ k) mod 2^(bits of high)
//!     until the value is below n; a value of one is unchanged
//!     scramble(x): x *= 0xff51afd7ed558ccd; x ^= x >> 32; x *= 0xc4ceb9fe1a85ec53; x >> 32
//!
//! stratum f of an epoch: element j = 0..count is the sample                      strata.rs
//!     pass, i = j / len, j mod len            # More draws than samples: several passes.
//!     key   = hash(hash(seed, stratum, epoch, f), pass, number of the pass, 0)
//!     shuffle:    id = permutation(len, key)(i)
//!     windowed:   id = windowed(len, chunk, window, key)(i)                      windowed.rs
//!     sequential: id = i, or floor(j * len / count) for fewer draws than samples
//!
//! residents of a stratum: the first S of permutation(len, hash(seed, resident, f, 0)), for the run
//!     their ids are 0..S, those of the others S..len, in the order of that permutation
//!     the draws are two parts, merged as the line is; part h in 0, 1 is drawn as a stratum with
//!     key = hash(hash(seed, stratum, epoch, f), resident, h, 0)
//!
//! windowed(n, chunk, window, key)(i)
//!     block = ceil(window / 2)
//!     i = shuffled within its block of the grid that starts at -floor(block / 2), pass 1
//!     i = shuffled within its block of the grid that starts at 0, pass 0
//!         # Both by permutation(length of the block, hash(key, block, pass, number of the block)).
//!     i counts through the chunks in the order permutation(n_chunks, hash(key, chunks, 0, 0))
//!
//! the line: element j of stratum f has the key (2j + 1) / (2 count_f)            merge.rs
//!     shuffle, windowed: sorted by that key, then by f
//!     sequential:        stratum after stratum
//!
//! repeated k times: position p of the epoch is position floor(p / k) of that line, by shuffle
//!
//! other samplings have no line of strata: they number the N samples of all strata, one after another
//!     single(n, key)(i) = permutation(n, key)(i) for n above 32, else          permutation.rs
//!         Fisher-Yates: at j = 0, 1, ... swap j with j + SplitMix64(key) mod (n - j)
//!     balanced, C classes with samples, m of each:                               balanced.rs
//!         position p: turn t = floor(p / C), class c = single(C, hash(seed, turn, epoch, t))(p mod C)
//!         k = epoch * m + t, pass q = floor(k / len_c)
//!         sample single(len_c, hash(seed, class, c, q))(k mod len_c) of the class, ascending
//!     weighted, weights w as f32 relative to the largest one:                    weights.rs
//!         with replacement: position p is the first sample at which the sum of w, in f64, is over
//!             floor(hash(seed, draw, epoch, p) / 2^11) / 2^53 of the whole sum
//!         without: by -ln(u) / w, ascending,                                     weighted.rs
//!             u = (floor(hash(seed, arrival, epoch, sample) / 2^11) + 1/2) / 2^53
//!     order: the list                                                            list.rs
//!
//! step g of global batch B takes the positions [gB, min((g + 1)B, N))            steps.rs
//!     n = their number; row i = gB + permutation(n, hash(seed, batch, epoch, g))(i)
//!         # But gB + i with sequential and with a list.
//!     rank r of W takes the next floor(n / W) rows, the first n mod W ranks one more
//! ```
//!
//! In buckets, each sample has the number of one, and the positions of the order above are moved:
//!
//! ```text
//! runs of L samples, by default of the global batch B:                           bucketed.rs
//!     the samples of the order, one after another, each to the run of its bucket that is filled
//!     runs of L samples in the order in which they are completed, then the others by bucket
//! steps begin at the first position of a run, and every B positions after it, up to its end
//! a last batch is filled up by positions of its own run
//! ```
//!
//! With `locality` the order is the one without residents: no stratum is drawn in two parts.
//! Instead resident samples have owners, and the last line above is another:
//!
//! ```text
//! owners: C caches, of W / C consecutive ranks each                              owners.rs
//!     resident k of stratum f: the sample permutation(len, hash(seed, resident, f, 0))(k)
//!     g = k + residents of the strata before f; cache g mod C owns it, in its slot floor(g / C)
//!     k = 0, 1, ... up to the first, exclusive, for which its cache has no room: a cache has room
//!     for min(b, floor(cache_bytes * b / bytes of all strata)) bytes of a stratum with b bytes,
//!     and for the bytes that earlier strata have left there
//!
//! rank r of W takes of the n rows of a step                                      assign.rs
//!     share of a cache = the rows that its ranks take together without locality
//!     row i = 0, 1, ...: to the cache that owns its sample, while that has less than its share
//!     the rest, first rows without owner, then those with, i ascending: to cache 0 up to its
//!     share, then to cache 1 and so on
//!     the ranks of a cache take its rows, i ascending, one after another, each as many as without
//!     rows that fill up a last batch are those without locality
//! ```
//!
//! # Reasons
//!
//! *Merging by key* spreads every stratum evenly along the epoch: each prefix holds each stratum's
//! share almost exactly, so that each batch costs the same. With random draws the number of slow
//! samples in a batch would vary as in coin tosses, and the slowest batch sets the pace.
//!
//! This holds for strata of any cost, so that "is kept in memory" is one more property to spread: a
//! cache with residents that are chosen once, and spread evenly, has the same number of hits in
//! every batch. No cache can have more hits in an epoch than samples in memory at its start, so
//! that nothing is lost by never replacing one. A page cache in its place has fewer hits, and in
//! bursts.
//!
//! Residents are merged with the others of their stratum first, not as strata of the line: so the
//! share of a stratum in a batch is as exact with a cache as without.
//!
//! The bounds: with two strata, a batch has each one's share up or down by at most one sample; with
//! `F` strata and the share `s`, by at most `1 + s (F - 2)`. That is over 1.5 only for a stratum of
//! more than `1 / (2 (F - 2))` of all, and is reached only if small strata meet in a batch. Any
//! stretch of a stratum's draws has its residents' share up or down by at most one.
//!
//! *A computed permutation* costs no memory for any number of samples, and finds position `p`
//! without the positions before it: this makes resuming fast.
//!
//! *Counting global samples*, not batches of a rank, makes the state independent of the number of
//! ranks, threads and processes. All of them may change between two runs of one epoch.
//!
//! *Owners are computed* from seed, sample and the number of caches, so that no rank has to ask
//! another one, and a run that resumes with other ranks has other owners and the same steps. For
//! this reason the order ignores residents then: their number depends on the ranks. In a global
//! batch it varies as in coin tosses, which is little among the many rows of all ranks.
//!
//! *Passes over a class continue from epoch to epoch*, because a class of more than the mean number of
//! samples would else never show all of them in an epoch, and some not for many epochs.
//!
//! *Rows are shuffled within a step* because neighbours in the line come from different strata in a
//! regular pattern: without the shuffle, rank 0 would always get the same mixture at the same rows.
//!
//! # Where to find what
//!
//! | file | what |
//! |---|---|
//! | `key.rs` | keys for every purpose from one seed |
//! | `permutation.rs` | [`Permutation`] |
//! | `windowed.rs` | a permutation that reads storage almost in order |
//! | `sampling.rs` | [`Sampling`], the choice |
//! | `sampler.rs` | what it needs for all epochs, checked; the fingerprint |
//! | `strata.rs` | [`Stratum`], and the sample of each draw |
//! | `line.rs`, `merge.rs` | the line of all strata |
//! | `balanced.rs` | [`Classes`], and draws by class |
//! | `weights.rs`, `weighted.rs` | [`Weights`], and draws by weight |
//! | `list.rs` | [`SampleList`] |
//! | `kept.rs` | what is made for one epoch |
//! | `epoch.rs` | [`Order`], [`Place`], [`Places`] |
//! | `bucketed.rs` | [`BucketNumbers`]: steps of one bucket each |
//! | `steps.rs` | [`World`], [`Last`], [`Batching`], [`Steps`], [`Row`] |
//! | `owners.rs` | [`Owners`]: the cache of each sample |
//! | `assign.rs` | [`assign`]: the rows of a step to the owners of their samples |
//! | `cursor.rs` | [`Cursor`], [`Step`], [`Worker`]: resuming a stopped run |
//! | `state.rs` | [`State`], the checkpoint |
mod assign;
mod balanced;
mod bucketed;
mod cursor;
mod epoch;
mod kept;
mod key;
mod line;
mod list;
mod merge;
mod owners;
mod permutation;
mod sampler;
mod sampling;
mod state;
mod steps;
mod strata;
mod weighted;
mod weights;
mod windowed;

pub(crate) use key::{Purpose, derive};
pub(crate) use sampler::Sampler;

pub use assign::{Assignment, Moved, assign};
pub use balanced::Classes;
pub use bucketed::BucketNumbers;
pub use cursor::{Cursor, Step, Worker};
pub use epoch::{Order, Place, Places};
pub use list::SampleList;
pub use owners::{Owners, Slot};
pub use permutation::Permutation;
pub use sampling::Sampling;
pub use state::State;
pub use steps::{Batching, Last, Row, Steps, World};
pub use strata::Stratum;
pub use weights::Weights;
