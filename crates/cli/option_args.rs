use crate::{
    choices::{ByArg, CheckArg, FilterArg, SubsamplingArg},
    labels::LabelArgs,
    metadata::MetadataArgs,
    selection::SelectionArgs,
};
use clap::Args;
use fdconvert::{Alpha, ByteCount, Encoding, JpegIndex, Pair, Ratio, Share, SplitShare};
use std::path::PathBuf;

/// Everything that shapes the bytes of the output: the fields of `PackOptions` as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct OptionArgs {
    /// Format of OUT [default: by the extension of OUT]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Table that lists the samples (.csv, .tsv, .jsonl), or annotations of COCO, YOLO, Pascal VOC
    ///
    /// A table is .csv or .tsv with a header, .jsonl, .txt with lines such as `a/1.jpg 0`, or the
    /// metadata.csv or metadata.jsonl in a folder or in its folders of splits.
    /// The column `path` (or `file_name`, `image`, `id`, ...) is relative to SOURCE; `label` becomes
    /// the class (numbers stay numbers, names are numbered in sorted order), `split` the split; every
    /// further column becomes a field of integers, floats or text. Only the listed files are packed,
    /// in the order listed; a list of paths alone keeps the classes that the folders give. With the
    /// columns xmin, ymin, xmax, ymax and class each row is a box, and the field `objects` has them.
    ///
    /// Annotations are a .json file of COCO (instances, keypoints, captions), the data.yaml or
    /// obj.data of YOLO, a folder of .txt files (YOLO), or a folder of .xml files (Pascal VOC). They
    /// become the field `objects`: JSON lists of boxes, categories and other annotations, in pixels.
    /// Where SOURCE is laid out as such datasets are, --layout finds them without this option.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) label: LabelArgs,
    /// One more image for every sample, e.g. mask=DIR: the file of the same name in DIR, whatever
    /// its extension; its pixels are never changed
    #[arg(long, value_name = "FIELD=DIR", hide_short_help = true)]
    pub(crate) pair: Vec<Pair>,
    /// Files next to the images that become fields, by extension, e.g. txt,json: a/1.txt and
    /// a/1.json for a/1.jpg
    ///
    /// txt becomes a text, json JSON, cls an integer, npy an array, and the extension of an image
    /// (mask.png) one more image, whose pixels are never changed. A sample that lacks such a file is
    /// an error, or is left out (--on-error skip).
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true)]
    pub(crate) beside: Vec<String>,
    /// Fields to leave out, e.g. caption,embedding
    ///
    /// In tar shards samples may lack such a field, and in MDS or Parquet it may be of a type that
    /// is not read.
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true)]
    pub(crate) drop_fields: Vec<String>,
    /// Follow links to wherever they lead; each folder is listed once
    ///
    /// Without it, links that lead out of SOURCE are counted and not followed.
    #[arg(long, hide_short_help = true)]
    pub(crate) follow_links: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Only this share of the samples, e.g. 10% or 0.1, drawn by --seed and their names
    #[arg(long, value_name = "SHARE", help_heading = "Samples", hide_short_help = true)]
    pub(crate) sample: Option<Share>,
    /// Shuffle all samples by --seed
    #[arg(long, help_heading = "Samples")]
    pub(crate) shuffle: bool,
    /// Parts of the dataset, e.g. train=0.9,val=0.1, drawn by --seed and the samples' names
    ///
    /// The shares add up to 1, or `rest=drop` leaves the rest out. Without --split, a
    /// source keeps its own splits: those of a packed dataset, and the folders train, val, test
    /// and the like where no other folder holds images.
    #[arg(long, value_name = "NAME=SHARE", value_delimiter = ',', help_heading = "Samples")]
    pub(crate) split: Vec<SplitShare>,
    /// Mix the splits of packed datasets, and take all first-level folders as classes, whatever
    /// their names
    #[arg(long, help_heading = "Samples", hide_short_help = true)]
    pub(crate) no_split_folders: bool,

    /// At most N samples in a shard
    #[arg(
        long,
        value_name = "N",
        group = "sharding",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shard_count: Option<u64>,
    /// At most SIZE in a shard, framing included [default: 256MiB]
    #[arg(long, value_name = "SIZE", group = "sharding", help_heading = "Shards")]
    pub(crate) shard_size: Option<ByteCount>,
    /// N shards (in each split), equal within one sample
    #[arg(
        long,
        value_name = "N",
        group = "sharding",
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shards: Option<u64>,
    /// Make the number of shards a multiple of W, equal within one sample: every rank gets the same
    /// number
    #[arg(
        long,
        value_name = "W",
        default_value_t = 1,
        help_heading = "Shards",
        hide_short_help = true
    )]
    pub(crate) shards_multiple_of: u64,

    /// How images are stored: keep, jpeg, png, bmp, webp, raw, smart, mix:P
    ///
    /// keep: the source's bytes. If a resize is due or the format cannot hold them, a JPEG is
    /// encoded as JPEG again, and all else without loss. jpeg: re-encode everything. raw: 8-bit RGB
    /// pixels. smart: JPEG where that is at least --smart-ratio times smaller than raw, else raw.
    /// mix:P: JPEG with probability P, chosen by --seed and the sample's name, else raw. webp:
    /// lossless.
    /// [default: keep, or jpeg where --jpeg-quality is given]
    #[arg(long, value_name = "HOW", help_heading = "Images")]
    pub(crate) encode: Option<Encoding>,
    /// JPEG quality, 1 to 100; alone it implies `--encode jpeg` [default: 90]
    #[arg(long, value_name = "Q", alias = "quality", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = "Images")]
    pub(crate) jpeg_quality: Option<u8>,
    /// JPEG chroma subsampling
    #[arg(
        long,
        value_enum,
        default_value = "420",
        value_name = "S",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) subsampling: SubsamplingArg,
    /// Optimize the Huffman tables of each JPEG: 3 to 6 % smaller, encoding takes 2.7 times as long
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) optimize_huffman: bool,
    /// Rewrite kept progressive JPEGs as baseline, without changing a coefficient:
    /// entry points and hardware decoders need that
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) baseline: bool,
    /// JPEG restart marker every N rows of blocks; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) restart_rows: u16,
    /// For smart: how many times smaller than raw a JPEG must be
    #[arg(
        long,
        value_name = "R",
        default_value_t = 4.0,
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) smart_ratio: f64,
    /// Store entry points of JPEGs: auto, on (every 2048 bits), off, 512 to 4096
    ///
    /// Entry points let threads and GPUs decode parts of a JPEG at once, e.g. --jpeg-index 1024 for
    /// small images. They take 0.3 to 2 % of the images' bytes, in the index; the JPEGs stay as
    /// they are. Progressive JPEGs get none. auto is on where the format can store them.
    #[arg(
        long,
        value_name = "BITS",
        default_value = "auto",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) jpeg_index: JpegIndex,
    /// For the format mixed: the share of BMP images, 0.3 or 3:7, auto, or a profile's path
    ///
    /// 0.3, 30% and 3:7 (BMP to others) are the same. auto profiles the source and the disk of OUT
    /// first, which takes seconds; PROFILE.json is what `fdconvert profile -o PROFILE.json` wrote.
    /// BMP takes more bytes and next to no decoding; images that it cannot hold without loss stay
    /// encoded, as --encode says.
    #[arg(long, value_name = "R", help_heading = "Images")]
    pub(crate) ratio: Option<Ratio>,
    /// With --ratio: random images become BMP, or those that save the most decoding for each byte
    #[arg(
        long,
        value_enum,
        default_value = "random",
        value_name = "HOW",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) by: ByArg,
    /// With --ratio: images whose BMP is larger than this stay encoded
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MiB",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) max_bmp_size: ByteCount,
    /// Scale down so that the longer side is at most N pixels; never up
    #[arg(long, value_name = "N", aliases = ["max-resolution", "image-size"], value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "short_side", help_heading = "Images")]
    pub(crate) max_side: Option<u32>,
    /// Scale down so that the shorter side is at most N pixels; never up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Images")]
    pub(crate) short_side: Option<u32>,
    /// Resampling filter: area is bit-exact with OpenCV's INTER_AREA, which FFCV uses
    #[arg(
        long,
        value_enum,
        default_value = "area",
        value_name = "F",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) filter: FilterArg,
    /// Where alpha cannot be stored: drop, white, black, RRGGBB (blend over it), refuse
    #[arg(
        long,
        value_name = "A",
        default_value = "drop",
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) alpha: Alpha,
    /// Store gray images as three equal channels when they are re-encoded
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) gray_to_rgb: bool,
    /// Do not turn re-encoded images upright by their EXIF orientation
    #[arg(long, help_heading = "Images", hide_short_help = true)]
    pub(crate) no_exif_rotation: bool,
    #[command(flatten)]
    pub(crate) metadata: MetadataArgs,

    /// Also reject JPEGs without an end marker, progressive JPEGs with missing scans, images with
    /// further frames, pages or channels or more than 8 bits that would be lost, and kinds that
    /// fdconvert cannot decode
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    pub(crate) strict: bool,
    /// How to check images that keep their bytes
    #[arg(long, value_enum, default_value = "header", value_name = "HOW")]
    #[arg(help_heading = "Safety", hide_short_help = true)]
    pub(crate) check: CheckArg,
    /// Refuse images of more pixels than this
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000_000,
        help_heading = "Safety",
        hide_short_help = true
    )]
    pub(crate) max_pixels: u64,
    /// Refuse image files larger than this
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        help_heading = "Safety",
        hide_short_help = true
    )]
    pub(crate) max_file_bytes: ByteCount,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", help_heading = "Safety", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
}
