use fdconvert_core::{Bands, Codec, ShardSummary, Skipped};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Report of a run, for people and for scripts.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Number of samples that this run had to write.
    pub planned: u64,
    /// Number of samples in the output.
    pub samples: u64,
    /// Number of samples that an interrupted run had stored, and this one continued.
    pub resumed: u64,
    /// Skipped samples, in order, with the reason.
    pub skipped: Vec<Skipped>,
    /// Image bytes that this run read from the source.
    pub bytes_in: u64,
    /// Image bytes that this run passed to the format.
    pub bytes_stored: u64,
    /// Size of the output files.
    pub bytes_out: u64,
    /// Output files.
    pub shards: Vec<ShardSummary>,
    /// Split of each output file.
    pub shard_splits: Vec<String>,
    /// Number of images by stored codec.
    pub codecs: BTreeMap<Codec, u64>,
    /// Noteworthy events on images: name, explanation, count.
    pub notes: Vec<(&'static str, &'static str, u64)>,
    /// Key of the first sample by name with an image of a kind that is not decoded, and why it is not.
    pub not_decoded: Option<(String, String)>,
    /// Key of the first sample by name with bands that are not an 8-bit picture, and these.
    pub bands: Option<(String, Bands)>,
    /// Images that could not be stored as they are: number, bytes before, bytes after.
    pub fell_back: (u64, u64, u64),
    /// Entry points of the JPEGs, if they were requested.
    pub entry_points: Option<EntryPointCounts>,
    /// Cost of comparing finished output files of an earlier run with its records.
    pub checked: Checked,
    /// Time by stage.
    pub stages: Stages,
    /// Wall-clock time of the run.
    pub elapsed: Duration,
}

impl Report {
    /// Returns true if an earlier run had completed the output.
    #[must_use]
    pub fn was_complete(&self) -> bool {
        self.resumed > 0 && self.resumed == self.samples + self.skipped.len() as u64
    }
}

/// Number of JPEGs with and without entry points in this run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EntryPointCounts {
    /// Number of JPEGs with entry points.
    pub built: u64,
    /// Bytes of these entry points.
    pub bytes: u64,
    /// Number of JPEGs without entry points, by the name of the reason.
    pub refused: BTreeMap<&'static str, u64>,
}

/// Cost of checking the output files of an earlier run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Size of the files in bytes.
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
    /// Resizing images.
    pub resize: Duration,
    /// Encoding images.
    pub encode: Duration,
    /// Finding entry points in JPEGs.
    pub index: Duration,
    /// Passing bytes to the output.
    pub write: Duration,
    /// Index, sync to disk, rename: after everything else.
    pub commit: Duration,
    /// Workers waiting for the writer.
    pub workers_waited: Duration,
    /// The writer waiting for workers.
    pub writer_waited: Duration,
}

/// Stage that limited the speed of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bottleneck {
    /// Reading the source's bytes.
    Read,
    /// Decoding images.
    Decode,
    /// Resizing images.
    Resize,
    /// Encoding images.
    Encode,
    /// Finding entry points in JPEGs.
    Index,
    /// Writing bytes to the output.
    Write,
    /// Syncing the finished output to disk.
    Sync,
}

impl Stages {
    /// Returns every stage with its name, in the order of the work.
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

    /// Returns the slowest part of a run that took `elapsed`: the disk if syncing took most of it,
    /// the writer if the workers waited for it longer than it for them, else the longest stage of
    /// the workers.
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
