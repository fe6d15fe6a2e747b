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
}

impl Configuration {
    const fn alone(name: &'static str, attacked: &'static str) -> Self {
        Self { name, before: &[], attacked, after: &[] }
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
/// earlier contents with the same lengths, OUT an empty folder, THREADS a number.
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
    },
    Configuration {
        name: "mds-overwrite",
        before: &["pack OLD OUT/x --format mds --shard-count 4"],
        attacked: "pack SOURCE OUT/x --format mds --shard-count 4 --overwrite --threads THREADS",
        after: &[],
    },
    Configuration {
        name: "mixed-overwrite",
        before: &["pack OLD OUT/x --format mixed --ratio 0.5 --shard-count 4"],
        attacked: "pack SOURCE OUT/x --format mixed --ratio 0.5 --shard-count 4 --overwrite \
                   --threads THREADS",
        after: &[],
    },
    Configuration::alone("plan", PLAN),
    Configuration { name: "part", before: &[PLAN], attacked: PART_1, after: &[PART_2, MERGE] },
    Configuration { name: "merge", before: &[PLAN, PART_1, PART_2], attacked: MERGE, after: &[] },
    Configuration {
        name: "unpack",
        before: &["pack SOURCE OUT/x.beton"],
        attacked: "unpack OUT/x.beton OUT/y",
        after: &[],
    },
    Configuration {
        name: "index",
        before: &["pack SOURCE OUT/x --format wds --shard-count 4 --sidecars none"],
        attacked: "index OUT/x --sidecars fdx,dali,wids",
        after: &[],
    },
];
