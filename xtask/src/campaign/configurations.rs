//! The commands under test, which cover every writer.

/// Starts the command lines of programs: an interpreter with the package, which `--python` names, and
/// a script.
pub(super) const PYTHON: &str = "PYTHON ";

/// A command that is killed or has its calls fail, with the commands before and after it.
pub(super) struct Configuration {
    /// Name on the command line of the campaign.
    pub(super) name: &'static str,
    /// Command lines that run before, undisturbed.
    pub(super) before: &'static [&'static str],
    pub(super) attacked: &'static str,
    /// Command lines that complete the output, undisturbed.
    pub(super) after: &'static [&'static str],
    /// Command lines one of which must succeed after every kill: what the output may be then.
    pub(super) either: &'static [&'static str],
}

impl Configuration {
    const fn alone(name: &'static str, attacked: &'static str) -> Self {
        Self { name, before: &[], attacked, after: &[], either: &[] }
    }
}

const PLAN: &str = "plan SOURCE -o OUT/x.fdplan --format wds --shard-count 3";
const PART_1: &str = "pack --plan OUT/x.fdplan --part 1/2 OUT/x --threads THREADS";
const PART_2: &str = "pack --plan OUT/x.fdplan --part 2/2 OUT/x --threads THREADS";
const MERGE: &str = "merge OUT/x";

/// Defines the configurations of a format for a split into several outputs, for a program that
/// writes samples, and for one that packs a sequence.
macro_rules! several {
    ($split:literal, $writer:literal, $sequence:literal, $out:literal, $options:literal) => {
        [
            Configuration::alone(
                $split,
                concat!(
                    "pack SOURCE ",
                    $out,
                    " ",
                    $options,
                    " --split train=0.5,val=0.5 --threads THREADS"
                ),
            ),
            Configuration::alone($writer, concat!("PYTHON Writer SOURCE ", $out, " ", $options)),
            Configuration::alone($sequence, concat!("PYTHON pack SOURCE ", $out, " ", $options)),
        ]
    };
}

/// Defines the edits of a dataset with these options.
macro_rules! edits {
    ($append:literal, $remove:literal, $update:literal, $options:literal) => {
        [
            Configuration {
                name: $append,
                before: &[
                    concat!("pack SOURCE OUT/old --where label==\"left\" ", $options),
                    concat!("pack SOURCE OUT/new ", $options),
                    concat!("pack SOURCE OUT/x --where label==\"left\" ", $options),
                ],
                attacked: "append OUT/x SOURCE --where label==\"right\" --shard-count 4 \
                           --threads THREADS",
                after: &[],
                either: EITHER,
            },
            Configuration {
                name: $remove,
                before: &[
                    concat!("pack SOURCE OUT/old ", $options),
                    concat!("pack SOURCE OUT/new --where key<\"right/08\" ", $options),
                    concat!("pack SOURCE OUT/x ", $options),
                ],
                attacked: "remove OUT/x --where key>=\"right/08\" --keep-versions 2 \
                           --threads THREADS",
                after: &[],
                either: EITHER,
            },
            Configuration {
                name: $update,
                before: &[
                    concat!("pack SOURCE OUT/old ", $options),
                    concat!("pack OUT/old OUT/new --labels LABELS ", $options),
                    concat!("pack SOURCE OUT/x ", $options),
                ],
                attacked: "update OUT/x --labels LABELS --threads THREADS",
                after: &[],
                either: EITHER,
            },
        ]
    };
}

/// An edited dataset is the version before or the one after, whatever the kill.
const EITHER: &[&str] = &["diff OUT/x OUT/old --pixels", "diff OUT/x OUT/new --pixels"];

/// By format.
pub(super) const EDITS: [[Configuration; 3]; 4] = [
    edits!(
        "wds-append",
        "wds-remove",
        "wds-update",
        "--format wds --shard-count 4 --sidecars fdx,dali,wids,timm,hf,energon,img2dataset"
    ),
    edits!("mds-append", "mds-remove", "mds-update", "--format mds --shard-count 4"),
    edits!(
        "parquet-append",
        "parquet-remove",
        "parquet-update",
        "--format parquet --shard-count 4"
    ),
    edits!(
        "mixed-append",
        "mixed-remove",
        "mixed-update",
        "--format mixed --ratio 0.5 --shard-count 4"
    ),
];

/// By format.
pub(super) const SEVERAL: [[Configuration; 3]; 6] = [
    several!("folder-split", "folder-writer", "folder-sequence", "OUT/x", "--format folder"),
    several!("beton-split", "beton-writer", "beton-sequence", "OUT/x.beton", "--format beton"),
    several!(
        "parquet-split",
        "parquet-writer",
        "parquet-sequence",
        "OUT/x.parquet",
        "--format parquet"
    ),
    several!("wds-split", "wds-writer", "wds-sequence", "OUT/x", "--format wds --shard-count 4"),
    several!("mds-split", "mds-writer", "mds-sequence", "OUT/x", "--format mds --shard-count 4"),
    several!(
        "mixed-split",
        "mixed-writer",
        "mixed-sequence",
        "OUT/x",
        "--format mixed --ratio 0.5 --shard-count 4"
    ),
];

/// Command lines with these placeholders: SOURCE is a folder of 12 images in two classes, OLD their
/// earlier contents with the same lengths, OUT an empty folder, THREADS a number, LABELS a table with other classes for two of the
/// images.
pub(super) const ALL: &[Configuration] = &[
    Configuration::alone("folder", "pack SOURCE OUT/x --format folder --threads THREADS"),
    Configuration::alone("beton", "pack SOURCE OUT/x.beton --jpeg-index off --threads THREADS"),
    Configuration::alone("beton-index", "pack SOURCE OUT/x.beton --threads THREADS"),
    Configuration::alone(
        "wds",
        "pack SOURCE OUT/x --format wds --shard-count 4 --threads THREADS \
         --sidecars fdx,dali,wids,timm,hf,energon,img2dataset",
    ),
    Configuration::alone("mds", "pack SOURCE OUT/x --format mds --shard-count 4 --threads THREADS"),
    Configuration::alone(
        "mds-zstd",
        "pack SOURCE OUT/x --format mds --shard-count 4 --compression zstd --threads THREADS",
    ),
    Configuration::alone("parquet", "pack SOURCE OUT/x.parquet --threads THREADS"),
    Configuration::alone(
        "parquet-shards",
        "pack SOURCE OUT/x --format parquet --shard-count 4 --threads THREADS",
    ),
    Configuration::alone(
        "mixed",
        "pack SOURCE OUT/x --format mixed --ratio 0.5 --shard-count 4 --threads THREADS",
    ),
    Configuration::alone(
        "formula",
        "pack fractal:fractaldb?classes=2&instances=100 OUT/x.formula --threads THREADS",
    ),
    Configuration {
        name: "wds-overwrite",
        before: &["pack OLD OUT/x --format wds --shard-count 4"],
        attacked: "pack SOURCE OUT/x --format wds --shard-count 4 --overwrite --threads THREADS",
        after: &[],
        either: &[],
    },
    Configuration {
        name: "mds-overwrite",
        before: &["pack OLD OUT/x --format mds --shard-count 4"],
        attacked: "pack SOURCE OUT/x --format mds --shard-count 4 --overwrite --threads THREADS",
        after: &[],
        either: &[],
    },
    Configuration {
        name: "parquet-shards-overwrite",
        before: &["pack OLD OUT/x --format parquet --shard-count 6"],
        attacked: "pack SOURCE OUT/x --format parquet --shard-count 4 --overwrite \
                   --threads THREADS",
        after: &[],
        either: &[],
    },
    Configuration {
        name: "mixed-overwrite",
        before: &["pack OLD OUT/x --format mixed --ratio 0.5 --shard-count 4"],
        attacked: "pack SOURCE OUT/x --format mixed --ratio 0.5 --shard-count 4 --overwrite \
                   --threads THREADS",
        after: &[],
        either: &[],
    },
    Configuration::alone("plan", PLAN),
    Configuration {
        name: "part",
        before: &[PLAN],
        attacked: PART_1,
        after: &[PART_2, MERGE],
        either: &[],
    },
    Configuration {
        name: "merge",
        before: &[PLAN, PART_1, PART_2],
        attacked: MERGE,
        after: &[],
        either: &[],
    },
    Configuration {
        name: "unpack",
        before: &["pack SOURCE OUT/x.beton"],
        attacked: "unpack OUT/x.beton OUT/y",
        after: &[],
        either: &[],
    },
    Configuration {
        name: "annotations",
        before: &["pack SOURCE OUT/x.beton"],
        attacked: "unpack OUT/x.beton OUT/y --annotations csv",
        after: &[],
        either: &[],
    },
    Configuration {
        name: "index",
        before: &["pack SOURCE OUT/x --format wds --shard-count 4 --sidecars none"],
        attacked: "index OUT/x --sidecars fdx,dali,wids",
        after: &[],
        either: &[],
    },
];
