//! Texts of the help besides those of options: examples, and the meaning of columns.
use clap::Command;

/// Clap's own template, with the examples between usage and options.
const EXAMPLES_FIRST: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// Moves the examples of a command, its `before_help`, in front of the options.
pub(crate) fn examples_first(command: Command) -> Command {
    let has_examples =
        command.get_before_help().or_else(|| command.get_before_long_help()).is_some();
    let command = command.mut_subcommands(examples_first);
    if has_examples { command.help_template(EXAMPLES_FIRST) } else { command }
}

/// End of the help and the manual page.
pub(crate) const EXIT_STATUS: &str = "Exit status: 0 complete, 1 samples skipped, damage or differences found, 2 not done, 130 stopped.";

/// End of the short help.
pub(crate) const MORE: &str = "`--help` shows all options, the formats and examples.";

pub(crate) const PACK_EXAMPLES: &str = "\
Examples:
  Store every image as it is; class folders become labels:
      fdconvert pack imagenet/train train.beton

  At most 500 pixels on the longer side, JPEG quality 90, what FFCV users write:
      fdconvert pack imagenet/train train.beton --jpeg-quality 90 --max-side 500

  Leave broken images out, list them, and continue:
      fdconvert pack photos photos.beton --on-error skip

  Labels and other columns from a table instead of folder names:
      fdconvert pack photos photos.beton --labels labels.csv

  Without GPS positions and duplicates, and only large images:
      fdconvert pack photos photos.wds --strip-metadata gps --dedup exact --where 'width >= 256'

  A dataset of fractals, as shards of 1-bit PNG, or as a formula of a few hundred KB:
      fdconvert pack 'fractal:fractaldb?classes=1000&instances=1000' shards/ --format wds
      fdconvert pack 'fractal:fractaldb?sampler=lanes64-v1' fractals.formula";

pub(crate) const PROFILE_EXAMPLES: &str = "\
Measures images in both forms and the disk past the page cache, predicts the fastest ratio, and
tries it and its neighbours with the loader.

Examples:
  For the disk of /data and 8 threads:
      fdconvert profile photos --target /data --threads 8 --report profile.html

  Pack at that ratio:
      fdconvert profile photos --target /data -o profile.json
      fdconvert pack photos /data/photos.mixed --ratio profile.json

  On a simulated slow disk, for all tenths:
      fdconvert profile photos --throttle-read 200MiB/s --verify sweep";

pub(crate) const PROFILE_COLUMNS: &str = "\
Columns: load/s and decode/s, the images/s that reading or decoding alone would allow by the model;
model/s, the smaller of them; measured and min..max, the loader's median and range; limit, what the
model says is the bottleneck.";

pub(crate) const BENCH_EXAMPLES: &str = "\
Examples:
  Rate of this dataset, past the page cache, and the bottleneck:
      fdconvert bench train.beton --threads 8

  Three forms of the same images, in turn, on a slow disk:
      fdconvert bench png/ --compare photos.mixed bmp/ --throttle-read 200MiB/s --plot rates.svg

  The time of three whole epochs: batches of 500 images, resized to 224 x 224 and augmented by
  AutoAugment, as single-precision numbers with the channels first:
      echo '[{\"Resize\": {\"size\": [224, 224]}}, {\"AutoAugment\": {}}]' > list.json
      fdconvert bench train.beton --epochs 3 --batch-size 500 --transform list.json \\
          --dtype f32 --layout nchw";

pub(crate) const BENCH_COLUMNS: &str = "\
Columns: images/s is the median of the rounds, min..max their range; CPU ms of the process for an
image; loading/s and decoding/s, what reading or decoding alone would allow; read/image, bytes from
storage; stall, the share of the time that training would have waited for a batch; hits, the share
of images from --cache. With --epochs, a line for each epoch: the first one reads what later ones
may find in the page cache or in --cache.";

pub(crate) const REPRODUCE_EXAMPLES: &str = "\
Draws formula images, and runs fdconvert and the loaders installed for a Python in turn; the page
shows the paper's figures with the paper's numbers as marks, the machine, and differences.

Examples:
  The comparison of loaders, with torch and webdataset from one environment and FFCV from another:
      fdconvert reproduce 000 --quick --python torch/bin/python --python ffcv/bin/python

  Many reads in flight on slow storage:
      fdconvert reproduce 002 --quick -o latency.html";

pub(crate) const PLAN_EXAMPLES: &str = "\
Examples:
  fdconvert plan imagenet/train -o train.fdplan --format wds --jpeg-quality 90 --max-side 500
  fdconvert pack --plan train.fdplan --part 1/4 shards/     on the first of four machines
  fdconvert merge shards/                                   when all four are done

The bytes do not depend on how many parts there are; a part that was killed is run again.";

pub(crate) const APPEND_EXAMPLES: &str = "\
Examples:
  fdconvert append photos.wds new-photos           one more folder, packed as the dataset was
  fdconvert append photos.wds a.wds b/ --prefix auto
  fdconvert append photos.wds new-photos --keep-versions 2
                                                   and photos.wds@1 can still be read

The shards that are there are not read. Beton files are written once: pack them into a new one.";

pub(crate) const REMOVE_EXAMPLES: &str = "\
Examples:
  fdconvert remove photos.wds --keys takedowns.txt     one key a line
  fdconvert remove photos.wds --where 'width < 32'

Only the shards that have them are written again. Their bytes are gone from all files of the dataset,
but for versions kept with --keep-versions, copies and backups.";

pub(crate) const UPDATE_EXAMPLES: &str = "\
Examples:
  fdconvert update photos.wds --labels corrections.csv    path,label: the samples listed, by key

Only the shards that have them are written again; a new column or a new class changes all shards.";

pub(crate) const LOG_EXAMPLES: &str = "\
Examples:
  fdconvert log photos.wds
  fdconvert diff photos.wds@1 photos.wds               what has changed since version 1";

pub(crate) const CLEAN_EXAMPLES: &str = "\
Examples:
  fdconvert clean photos.wds                           of killed edits
  fdconvert clean s3://bucket/set --dry-run
  fdconvert clean s3://bucket/set --older-than 2h";
pub(crate) const INDEX_EXAMPLES: &str = "\
Examples:
  fdconvert index shards/                          fdx, DALI and wids files
  fdconvert index shards/ --sidecars dali,timm     only these
  fdconvert index shards/ --jpeg-index on          with entry points inside the JPEGs

The shards themselves are only read; other tools may have written them.";

pub(crate) const UNPACK_EXAMPLES: &str = "\
Examples:
  fdconvert unpack train.beton train/
  fdconvert pack train.beton cats/ --format folder --where 'label == \"cat\"'     a part of it

The images are written byte for byte as stored, under their recorded names; raw pixels become PNG.";

pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  fdconvert verify train.beton           structure, sizes and checksums
  fdconvert verify train.beton --deep    and decode every image
  fdconvert verify photos --deep         which images of a folder are broken";

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  fdconvert diff train.beton s3://bucket/train     are they the same samples?
  fdconvert diff photos.wds raw.beton --pixels     do they show the same images?";

pub(crate) const INSPECT_EXAMPLES: &str = "\
Examples:
  fdconvert inspect train.beton                fields, classes, splits, how it was made
  fdconvert inspect train.beton --samples 3    and the first three samples";

pub(crate) const VIEW_EXAMPLES: &str = "\
Examples:
  fdconvert view train.beton                          print the address, and open it on a terminal
  fdconvert view s3://bucket/train --no-open          of a dataset in a store
  fdconvert view photos.wds --compare photos.beton    two side by side, by keys

Only browsers on this machine can connect, and nothing is written. Ctrl-C ends it, with status 0.";

pub(crate) const STATS_EXAMPLES: &str = "\
Examples:
  fdconvert stats train.beton                     classes, codecs, sizes
  fdconvert stats train.beton --pixels            and mean and deviation of the channels
  fdconvert stats train.beton --html stats.html   as histograms";

pub(crate) const SHEET_EXAMPLES: &str = "\
Examples:
  fdconvert sheet train.beton sheet.png                        the first 100 images
  fdconvert sheet train.beton cats.png --seed 1 --where 'label == \"cat\"'";

pub(crate) const DUPLICATES_EXAMPLES: &str = "\
Examples:
  Samples of the same bytes, and those that leak from one split to another:
      fdconvert find-duplicates train.beton val.beton

  Also those that show the same, and a dataset without them:
      fdconvert find-duplicates photos --near --keys keep.txt
      fdconvert pack photos photos.beton --keys keep.txt

Exits with 1 where there are duplicates.";

pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  fdconvert man pack | man -l -                       read one page
  fdconvert man --all ~/.local/share/man/man1         for `man fdconvert-pack`";

pub(crate) const SAMPLE_EXAMPLES: &str = "\
Examples:
  fdconvert sample photos
  fdconvert pack photos photos.beton

Twelve of Kodak's test photos, which are free of restrictions, made small: 256 pixels, JPEG.";
