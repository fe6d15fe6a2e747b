//! From flags to validated input: after this, illegal combinations cannot be expressed.
use crate::{
    args::{ByArg, FilterArg, OnErrorArg, RecipeArgs, SplitArg, SubsamplingArg},
    jpeg_index,
    ratio::RatioArg,
};
use fdconvert_codec::{
    Alpha, By, Encode, Filter, Gray, JpegOptions, Mixture, Policy, Size, Subsampling,
};
use fdconvert_core::{Error, Format, Limits, OptionValues, Result, Schema};
use fdconvert_folder::Folder;
use fdconvert_formula::FormulaFormat;
use fdconvert_pipeline::{Balance, OnError, PlanRequest, Selection, ShardBy, Sharding, Split};
use std::{collections::BTreeMap, path::Path};

/// Everything that shapes the bytes of an output, checked.
pub(crate) struct Recipe {
    pub(crate) format: Box<dyn Format>,
    pub(crate) policy: Policy,
    pub(crate) plan: PlanRequest,
    /// What to record beside the policy's own parameters.
    pub(crate) params: BTreeMap<String, String>,
    /// How far apart checkpoints inside the JPEGs are, in bits.
    pub(crate) jpeg_index: Option<u32>,
    /// Neither a flag nor the extension of OUT chose the format.
    pub(crate) is_default_format: bool,
}

impl Recipe {
    /// Checks the flags; `out` tells the format where no flag does.
    pub(crate) fn new(
        args: &RecipeArgs,
        options: &OptionValues,
        out: Option<&Path>,
    ) -> Result<Self> {
        let format = format(args, options, out)?;
        let mut policy = policy(args, options)?;
        policy.mixture = mixture(args, &*format)?;
        policy.validate()?;
        let mut plan = plan_request(args);
        plan.balance = balance(args);
        let params = params(args, options, &*format);
        let jpeg_index = jpeg_index::checked(args.jpeg_index, &*format)?;
        refuse_shards_of_one_file(args, &*format)?;
        let is_default_format = args.format.is_none() && format.name() == Folder::default().name();
        Ok(Self { format, policy, plan, params, jpeg_index, is_default_format })
    }
}

/// Refuses options for images where the source has none: they would be ignored.
pub(crate) fn refuse_without_images(args: &RecipeArgs, schema: &Schema) -> Result<()> {
    if schema.first_image().is_some() {
        return Ok(());
    }
    let given = [
        ("--encode", args.encode.is_some()),
        ("--jpeg-quality", args.jpeg_quality.is_some()),
        ("--max-side", args.max_side.is_some()),
        ("--short-side", args.short_side.is_some()),
        ("--ratio", args.ratio.is_some()),
        ("--baseline", args.baseline),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let fields: Vec<_> = schema
        .fields
        .iter()
        .map(|field| format!("`{}` ({})", field.name, field.kind.name()))
        .collect();
    let what = format!(
        "the source has no field of images, only {}: leave the option out; a column of bytes is one \
         of images if all values looked at are",
        fields.join(", ")
    );
    Err(Error::usage(option, what))
}

fn plan_request(args: &RecipeArgs) -> PlanRequest {
    let by = match (args.shard_count, args.shard_size, args.shards) {
        (Some(count), ..) => ShardBy::Count(count),
        (_, Some(bytes), _) => ShardBy::Bytes(bytes),
        (_, _, Some(number)) => ShardBy::Number(number),
        (None, None, None) => Sharding::default().by,
    };
    let split = |arg: &SplitArg| match arg {
        SplitArg::Part(name, share) => Some(Split { name: name.clone(), share: *share }),
        SplitArg::Rest(..) => None,
    };
    let splits: Vec<Split> = args.split.iter().filter_map(split).collect();
    PlanRequest {
        selection: Selection {
            ranges: args.select.iter().map(|&(start, end)| start..end).collect(),
            labels: args.select_labels.clone(),
            share: args.sample.map(|share| (share, args.seed)),
        },
        shuffle: args.shuffle.then_some(args.seed),
        drop_rest: splits.len() < args.split.len(),
        splits,
        only_split: None,
        split_seed: args.seed,
        sharding: Sharding { by, multiple_of: args.shards_multiple_of },
        balance: None,
        on_error: None,
    }
}

/// Options on shards say nothing about a format of one file.
fn refuse_shards_of_one_file(args: &RecipeArgs, format: &dyn Format) -> Result<()> {
    let given = [
        ("--shard-count", args.shard_count.is_some()),
        ("--shard-size", args.shard_size.is_some()),
        ("--shards", args.shards.is_some()),
        ("--shards-multiple-of", args.shards_multiple_of != 1),
    ];
    // A formula says itself what it cannot do.
    if format.is_sharded() || format.name() == FormulaFormat.name() {
        return Ok(());
    }
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = format!(
                "a {} has no shards; leave it out, or choose a format of shards (--format wds, \
                 mds or mixed)",
                format.name()
            );
            Err(Error::usage(option, what))
        }
    }
}

/// Options of the format and of the plan, as they are recorded in the output.
fn params(
    args: &RecipeArgs,
    options: &OptionValues,
    format: &dyn Format,
) -> BTreeMap<String, String> {
    let mut params = BTreeMap::new();
    for (name, value) in &options.0 {
        let value = if value.is_empty() { "on" } else { value };
        params.insert(format!("{}.{name}", format.name()), value.to_owned());
    }
    let mut put = |name: &str, value: String| params.insert(name.to_owned(), value);
    if let Some(RatioArg::Balanced { measured, .. }) = &args.ratio {
        put("ratio-balance", measured.map(|number| number.to_string()).join(","));
    }
    if !args.select.is_empty() {
        let ranges = args.select.iter().map(|(start, end)| format!("{start}..{end}"));
        put("select", ranges.collect::<Vec<_>>().join(","));
    }
    if !args.select_labels.is_empty() {
        put("select-labels", args.select_labels.join(","));
    }
    if let Some(share) = args.sample {
        put("sample", share.to_string());
    }
    if args.shuffle {
        put("shuffle", "on".into());
    }
    if !args.split.is_empty() {
        let parts = args.split.iter().map(|arg| match arg {
            SplitArg::Part(name, share) => format!("{name}={share}"),
            SplitArg::Rest(name, what) => format!("{name}={what}"),
        });
        put("split", parts.collect::<Vec<_>>().join(","));
    }
    let mixes = args.encode.as_deref().is_some_and(|how| how.starts_with("mix:"));
    if mixes || args.shuffle || args.sample.is_some() || !args.split.is_empty() {
        put("seed", args.seed.to_string());
    }
    params
}

impl From<OnErrorArg> for OnError {
    fn from(arg: OnErrorArg) -> Self {
        match arg {
            OnErrorArg::Fail => Self::Fail,
            OnErrorArg::Skip => Self::Skip,
        }
    }
}

/// The number asked for, else one per core.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(0) => {
            Err(Error::usage("--threads", "there is no work without a thread; give 1 or more"))
        }
        Some(n) if n > 4096 => {
            Err(Error::usage("--threads", "more than 4096 threads bring nothing"))
        }
        Some(n) => Ok(n),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

fn format(
    args: &RecipeArgs,
    options: &OptionValues,
    out: Option<&Path>,
) -> Result<Box<dyn Format>> {
    let formats = fdconvert_reader::formats();
    let names = || formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    let chosen = match &args.format {
        Some(name) => formats
            .iter()
            .find(|format| {
                format.name() == name.as_str() || format.aliases().contains(&name.as_str())
            })
            .ok_or_else(|| Error::usage("--format", format!("`{name}` is none of: {}", names()))),
        None => {
            let out = out.ok_or_else(|| {
                Error::usage("--format", format!("say which, one of: {}", names()))
            })?;
            formats.iter().find(|format| format.suits(out)).ok_or_else(|| {
                let what = format!(
                    "the extension of {} names no format; say --format NAME, one of: {}",
                    out.display(),
                    names()
                );
                Error::usage("OUT", what)
            })
        }
    }?;
    options.check(chosen.name(), chosen.options())?;
    chosen.with_options(options)
}

fn policy(args: &RecipeArgs, options: &OptionValues) -> Result<Policy> {
    let encode = match (&args.encode, args.jpeg_quality) {
        (Some(how), _) => encode(how, args)?,
        (None, Some(_)) => Encode::Jpeg,
        (None, None) => Encode::Keep,
    };
    let size = match (args.max_side, args.short_side) {
        (Some(side), _) => Some(Size::MaxSide(side)),
        (None, Some(side)) => Some(Size::ShortSide(side)),
        (None, None) => None,
    };
    let mut policy = Policy {
        encode,
        mixture: None,
        size,
        filter: match args.filter {
            FilterArg::Area => Filter::Area,
            FilterArg::Lanczos3 => Filter::Lanczos3,
            FilterArg::Bilinear => Filter::Bilinear,
        },
        jpeg: JpegOptions {
            quality: args.jpeg_quality.unwrap_or(90),
            subsampling: match args.subsampling {
                SubsamplingArg::S420 => Subsampling::S420,
                SubsamplingArg::S422 => Subsampling::S422,
                SubsamplingArg::S444 => Subsampling::S444,
                SubsamplingArg::Keep => Subsampling::Keep,
            },
            optimize_huffman: args.optimize_huffman,
            restart_rows: args.restart_rows,
        },
        alpha: alpha(&args.alpha)?,
        gray: if args.gray_to_rgb { Gray::Expand } else { Gray::Keep },
        orient: !args.no_exif_rotation,
        baseline: args.baseline,
        strict: args.strict,
        limits: Limits { max_pixels: args.max_pixels, max_file_bytes: args.max_file_bytes },
    };
    if options.choice("compat") == Some("ffcv") {
        as_ffcv_would(&mut policy)?;
    }
    Ok(policy)
}

/// The mixture that `--ratio` asks for, once it is a number.
fn mixture(args: &RecipeArgs, format: &dyn Format) -> Result<Option<Mixture>> {
    let share = match &args.ratio {
        None => return Ok(None),
        Some(RatioArg::Share(share) | RatioArg::Balanced { share, .. }) => *share,
        Some(other) => {
            let what = format!("`{other}` has to become a number first");
            return Err(Error::usage("--ratio", what));
        }
    };
    if format.name() != "mixed" {
        let what = format!("a {} has one form of image; use --format mixed", format.name());
        return Err(Error::usage("--ratio", what));
    }
    let by = match args.by {
        ByArg::Random => By::Random,
        ByArg::Benefit => By::Benefit,
    };
    Ok(Some(Mixture { share, by, seed: args.seed, max_bytes: args.max_bmp_size }))
}

fn balance(args: &RecipeArgs) -> Option<Balance> {
    let Some(RatioArg::Balanced { measured, .. }) = &args.ratio else { return None };
    let [read_bytes_per_s, threads, cache_bytes, encoded_seconds, bmp_seconds] = *measured;
    Some(Balance { read_bytes_per_s, threads, cache_bytes, encoded_seconds, bmp_seconds })
}

/// FFCV decodes with Pillow's `convert("RGB")`, knows no EXIF, resizes by area, and encodes with
/// OpenCV's defaults; what it cannot do must not be asked of a file that is to be its own.
fn as_ffcv_would(policy: &mut Policy) -> Result<()> {
    let refuse = |what: &str| Err(Error::usage("--compat ffcv", what.to_owned()));
    match policy.encode {
        Encode::Jpeg | Encode::Raw => {}
        Encode::Smart { .. } | Encode::Mix { .. } => {
            return refuse(
                "FFCV's modes `proportion` and `smart` are not reproduced byte for byte; leave \
                 --compat out (FFCV reads the file nevertheless), or use --encode jpeg or raw",
            );
        }
        Encode::Keep | Encode::Png | Encode::Bmp => {
            return refuse("FFCV stores what it has encoded itself; use --encode jpeg or raw");
        }
    }
    if policy.filter != Filter::Area {
        return refuse("FFCV resizes by area only; leave --filter out");
    }
    if matches!(policy.size, Some(Size::ShortSide(_))) {
        return refuse("FFCV bounds the longer side only; use --max-side");
    }
    let jpeg = &policy.jpeg;
    if jpeg.subsampling != Subsampling::S420 || jpeg.optimize_huffman || jpeg.restart_rows != 0 {
        return refuse("FFCV's JPEGs are 4:2:0 with standard tables and no restart markers");
    }
    policy.gray = Gray::Expand;
    policy.orient = false;
    Ok(())
}

fn encode(how: &str, args: &RecipeArgs) -> Result<Encode> {
    let wrong = || {
        let what =
            format!("`{how}` is none of: keep, jpeg, png, bmp, raw, smart, mix:P (P from 0 to 1)");
        Error::usage("--encode", what)
    };
    if args.jpeg_quality.is_some() && matches!(how, "png" | "bmp" | "raw") {
        return Err(Error::usage("--jpeg-quality", format!("--encode {how} writes no JPEG")));
    }
    match how {
        "keep" => Ok(Encode::Keep),
        "jpeg" | "jpg" => Ok(Encode::Jpeg),
        "png" => Ok(Encode::Png),
        "bmp" => Ok(Encode::Bmp),
        "raw" => Ok(Encode::Raw),
        "smart" => Ok(Encode::Smart { ratio: args.smart_ratio }),
        _ => {
            let share = how.strip_prefix("mix:").and_then(|p| p.parse::<f64>().ok());
            match share {
                Some(jpeg_share) if (0.0..=1.0).contains(&jpeg_share) => {
                    Ok(Encode::Mix { jpeg_share, seed: args.seed })
                }
                _ => Err(wrong()),
            }
        }
    }
}

fn alpha(how: &str) -> Result<Alpha> {
    match how {
        "drop" => return Ok(Alpha::Drop),
        "refuse" => return Ok(Alpha::Refuse),
        "white" => return Ok(Alpha::Blend([255; 3])),
        "black" => return Ok(Alpha::Blend([0; 3])),
        _ => {}
    }
    match u32::from_str_radix(how, 16) {
        Ok(rgb) if how.len() == 6 => {
            let [_, r, g, b] = rgb.to_be_bytes();
            Ok(Alpha::Blend([r, g, b]))
        }
        _ => {
            let what = format!("`{how}` is none of: drop, white, black, refuse, RRGGBB");
            Err(Error::usage("--alpha", what))
        }
    }
}
