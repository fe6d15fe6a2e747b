use fdconvert_core::{Codec, ShardSummary, Skipped};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Account of what a run did, for people and for scripts.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Samples that this run was to write.
    pub planned: u64,
    /// Samples in the output.
    pub samples: u64,
    /// Of these, already stored by an interrupted run that this one continued.
    pub resumed: u64,
    /// Left out, in order, with the reason.
    pub skipped: Vec<Skipped>,
    /// Image bytes read from the source by this run.
    pub bytes_in: u64,
    /// Image bytes handed to the format by this run.
    pub bytes_stored: u64,
    /// Size of the output files.
    pub bytes_out: u64,
    /// Output files.
    pub shards: Vec<ShardSummary>,
    /// The split of each of them.
    pub shard_splits: Vec<String>,
    /// Images by the codec they are stored in.
    pub codecs: BTreeMap<Codec, u64>,
    /// Things worth knowing that happened to images: name, explanation, count.
    pub notes: Vec<(&'static str, &'static str, u64)>,
    /// Images that could not be stored as they are: how many, bytes before, bytes after.
    pub fell_back: (u64, u64, u64),
    /// Entry points of the JPEGs, where they were asked for.
    pub entry_points: Option<EntryPointCounts>,
    /// Finished output files of an earlier run that were compared with its records.
    pub checked: Checked,
    /// Time by stage.
    pub stages: Stages,
    /// Wall-clock time of the run.
    pub elapsed: Duration,
}

impl Report {
    /// Returns whether all of it was there before.
    #[must_use]
    pub fn was_complete(&self) -> bool {
        self.resumed > 0 && self.resumed == self.samples + self.skipped.len() as u64
    }
}

/// Counts of the JPEGs whose entry points were to be stored, in this run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EntryPointCounts {
    /// JPEGs that got them.
    pub built: u64,
    /// Bytes of these entry points.
    pub bytes: u64,
    /// JPEGs that got none, by the name of the reason.
    pub refused: BTreeMap<&'static str, u64>,
}

/// Cost of finding out whether output files of an earlier run are what it has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Their size.
    pub bytes: u64,
    /// Wall-clock time.
    pub time: Duration,
}

/// Time by stage. Working times add up over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages {
    /// Reading from the source.
    pub read: Duration,
    /// Decoding images.
    pub decode: Duration,
    /// Resizing them.
    pub resize: Duration,
    /// Encoding them.
    pub encode: Duration,
    /// Looking for places inside JPEGs where a decoder may start.
    pub index: Duration,
    /// Handing bytes to the output.
    pub write: Duration,
    /// Index, sync to disk, rename: when everything else is done.
    pub commit: Duration,
    /// Workers waiting for the writer.
    pub workers_waited: Duration,
    /// The writer waiting for workers.
    pub writer_waited: Duration,
}

/// Stage that kept the run from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bottleneck {
    /// Getting the source's bytes.
    Read,
    /// Turning them into pixels.
    Decode,
    /// Scaling pixels.
    Resize,
    /// Turning pixels into bytes.
    Encode,
    /// Finding entry points in JPEGs.
    Index,
    /// Getting the bytes into the output.
    Write,
    /// Getting the finished output onto the disk.
    Sync,
}

impl Stages {
    /// Every stage with its name, in the order of the work.
    #[must_use]
    pub fn by_name(&self) -> [(&'static str, Duration); 9] {
        [
            ("read", self.read),
            ("decode", self.decode),
            ("resize", self.resize),
            ("encode", self.encode),
            ("index", self.index),
            ("write", self.write),
            ("commit", self.commit),
            ("workers_waited", self.workers_waited),
            ("writer_waited", self.writer_waited),
        ]
    }

    /// The slowest part of a run that took `elapsed`: the disk when syncing took most of it, the
    /// writer when the workers waited for it longer than it for them, else the stage the workers
    /// spent most time in.
    #[must_use]
    pub fn bottleneck(&self, elapsed: Duration) -> Bottleneck {
        if self.commit * 2 > elapsed && elapsed != Duration::ZERO {
            return Bottleneck::Sync;
        }
        let of_workers = [
            (self.read, Bottleneck::Read),
            (self.decode, Bottleneck::Decode),
            (self.resize, Bottleneck::Resize),
            (self.encode, Bottleneck::Encode),
            (self.index, Bottleneck::Index),
        ];
        let (longest, stage) = of_workers.into_iter().max_by_key(|(time, _)| *time).unwrap_or((
            // Not reached: the array is not empty.
            Duration::ZERO,
            Bottleneck::Read,
        ));
        let waited = self.workers_waited != Duration::ZERO || self.writer_waited != Duration::ZERO;
        let writer_is_slower = if waited {
            self.workers_waited > self.writer_waited
        } else {
            // One thread does everything in turn.
            self.write > longest
        };
        if writer_is_slower { Bottleneck::Write } else { stage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bottleneck_is_the_writer_only_when_it_is_waited_for() {
        let ms = Duration::from_millis;
        let mut stages = Stages { decode: ms(9), encode: ms(5), write: ms(7), ..Stages::default() };
        assert_eq!(stages.bottleneck(ms(100)), Bottleneck::Decode);
        stages.write = ms(10);
        assert_eq!(stages.bottleneck(ms(100)), Bottleneck::Write);
        stages.writer_waited = ms(1);
        assert_eq!(stages.bottleneck(ms(100)), Bottleneck::Decode);
        stages.workers_waited = ms(2);
        assert_eq!(stages.bottleneck(ms(100)), Bottleneck::Write);
        stages.commit = ms(51);
        assert_eq!(stages.bottleneck(ms(100)), Bottleneck::Sync);
    }
}
