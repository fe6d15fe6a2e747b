//! From options to validated settings: after this, combinations that mean nothing cannot be
//! expressed.
use crate::{
    ByteCount, PackOptions,
    choose::Chosen,
    classes,
    keys::ListedKeys,
    options::{Encoding, Per, SplitShare},
    ratio::Settled,
};
use fdconvert_codec::{Encode, Filter, Gray, JpegOptions, Mixture, Policy, Size, Subsampling};
use fdconvert_core::{
    Error, Format, FormatOption, Layout, OptionKind, OptionValues, Remark, Result, Schema, option,
};
use fdconvert_pipeline::{PlanRequest, Selection, ShardBy, Sharding, Split};
use std::{collections::BTreeMap, path::Path};

/// Everything that shapes the bytes of an output, checked.
pub(crate) struct Settings {
    pub(crate) format: Box<dyn Format>,
    pub(crate) policy: Policy,
    pub(crate) plan: PlanRequest,
    /// Parameters to record beside the policy's own ones.
    pub(crate) params: BTreeMap<String, String>,
    /// Neither an option nor the extension of the output chose the format.
    pub(crate) is_default_format: bool,
    /// Listed keys that the source has with an extension.
    pub(crate) without_extension: u64,
    /// Listed keys that the source has with other forms of accented letters.
    pub(crate) look_alikes: u64,
    /// Record of the choice of samples by what they are.
    pub(crate) chosen: Chosen,
}

impl Settings {
    /// Checks the options; `out` tells the format where no option does, `ratio` is what the option
    /// of that name has become.
    pub(crate) fn new(
        options: &PackOptions,
        ratio: Option<&Settled>,
        out: Option<&Path>,
    ) -> Result<Self> {
        let format = format(options, out)?;
        let mut policy = policy(options)?;
        policy.mixture = mixture(options, ratio, &*format)?;
        policy.validate()?;
        let of_labels = [
            (option::BOXES, options.boxes.is_some()),
            (option::LABEL_COLUMNS, !options.label_columns.is_empty()),
        ];
        if let Some((option, _)) = of_labels.into_iter().find(|(_, is_given)| *is_given)
            && options.labels.is_none()
        {
            return Err(Error::usage(option, "it is about a table of labels")
                .cure("to give one", option::LABELS));
        }
        if options.per.is_some() && options.sample.is_none() {
            return Err(Error::usage(option::PER, "it is about a share of the samples")
                .cure("to take one", option::SAMPLE.with("10%")));
        }
        let mut plan = plan_request(options);
        plan.balance = ratio.and_then(|ratio| ratio.balance);
        let params = params(options, ratio, &*format)?;
        check_jpeg_index(options, &*format)?;
        refuse_shards_of_one_file(options, &*format)?;
        let is_default_format =
            options.format.is_none() && format.capabilities().layout == Layout::Images;
        Ok(Self {
            format,
            policy,
            plan,
            params,
            is_default_format,
            without_extension: 0,
            look_alikes: 0,
            chosen: Chosen::default(),
        })
    }

    /// Records what list the samples are of.
    pub(crate) fn record_keys(&mut self, listed: &ListedKeys) {
        self.params.extend([listed.param()]);
    }

    /// What to tell of the choice of samples, in sentences.
    pub(crate) fn choice_notes(&self) -> Vec<Remark> {
        let n = self.without_extension;
        let without = (n > 0).then(|| {
            let (keys, name) =
                if n == 1 { ("key", "names a sample") } else { ("keys", "name samples") };
            format!("{n} {keys} of `keys` {name} without the extension").into()
        });
        let n = self.look_alikes;
        let look_alike = (n > 0).then(|| {
            let (keys, are) = if n == 1 { ("key", "is") } else { ("keys", "are") };
            format!(
                "{n} {keys} of `keys` {are} written with other forms of accented letters than the \
                 source has (NFC and NFD)"
            )
            .into()
        });
        without.into_iter().chain(look_alike).chain(self.chosen.notes()).collect()
    }

    /// Records what was chosen by what samples are.
    pub(crate) fn record_choice(&mut self, chosen: Chosen) {
        self.params.extend(chosen.params());
        self.chosen = chosen;
    }
}

/// Refuses options for images where the source has none: they would be ignored.
pub(crate) fn refuse_without_images(options: &PackOptions, schema: &Schema) -> Result<()> {
    if schema.first_image().is_some() {
        return Ok(());
    }
    let given = [
        (option::ENCODE, options.encode.is_some()),
        (option::JPEG_QUALITY, options.jpeg_quality.is_some()),
        (option::MAX_SIDE, options.max_side.is_some()),
        (option::SHORT_SIDE, options.short_side.is_some()),
        (option::RATIO, options.ratio.is_some()),
        (option::BASELINE, options.baseline),
        (option::STRIP_METADATA, !options.strip_metadata.is_empty()),
        (option::DEDUP, options.dedup.is_some()),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let fields: Vec<_> = schema
        .fields
        .iter()
        .map(|field| format!("`{}` ({})", field.name, field.kind.name()))
        .collect();
    let what = format!(
        "the source has no field of images, only {}: leave the option out; a column of bytes \
         counts as images only if all inspected values are",
        fields.join(", ")
    );
    Err(Error::usage(option, what))
}

fn plan_request(options: &PackOptions) -> PlanRequest {
    let by = match (options.shard_count, options.shard_size, options.shards) {
        (Some(count), ..) => ShardBy::Count(count),
        (_, Some(size), _) => ShardBy::Bytes(size.0),
        (_, _, Some(number)) => ShardBy::Number(number),
        (None, None, None) => Sharding::default().by,
    };
    let split = |part: &SplitShare| match part {
        SplitShare::Part(name, share) => Some(Split { name: name.clone(), share: share.get() }),
        SplitShare::DropRest => None,
    };
    let choices = [
        options.keys.as_ref().map(|_| option::KEYS),
        options.r#where.as_ref().map(|_| option::WHERE),
        options.dedup.map(|_| option::DEDUP),
    ];
    let splits: Vec<Split> = options.split.iter().filter_map(split).collect();
    PlanRequest {
        selection: Selection {
            // Until the source is open.
            listed: None,
            listed_by: choices.into_iter().flatten().collect(),
            share: options.sample.map(|share| (share.get(), options.seed)),
            per_class: options.per == Some(Per::Class),
        },
        shuffle: options.shuffle.then_some(options.seed),
        drop_rest: splits.len() < options.split.len(),
        splits,
        only_split: None,
        mix_splits: options.no_split_folders,
        split_seed: options.seed,
        sharding: Sharding { by, multiple_of: options.shards_multiple_of },
        balance: None,
        on_error: None,
    }
}

/// Options on shards say nothing about a format of one file.
fn refuse_shards_of_one_file(options: &PackOptions, format: &dyn Format) -> Result<()> {
    let given = [
        (option::SHARD_COUNT, options.shard_count.is_some()),
        (option::SHARD_SIZE, options.shard_size.is_some()),
        (option::SHARDS, options.shards.is_some()),
        (option::SHARDS_MULTIPLE_OF, options.shards_multiple_of != 1),
    ];
    // A formula says itself what it cannot do.
    if format.is_sharded() || format.capabilities().formulas_only {
        return Ok(());
    }
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = format!(
                "a {} has no shards; leave it out, or choose a format of shards (wds, mds, mixed)",
                format.name()
            );
            Err(Error::usage(option, what).cure("to choose one", option::FORMAT.with("wds")))
        }
    }
}

/// Options of the format and of the plan, as they are recorded in the output.
fn params(
    options: &PackOptions,
    ratio: Option<&Settled>,
    format: &dyn Format,
) -> Result<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    let values = format_values(options, format.options())?;
    for (name, value) in values.0 {
        let value = if value.is_empty() { "on".to_owned() } else { value };
        params.insert(format!("{}.{name}", format.name()), value);
    }
    let mut put = |name: &str, value: String| params.insert(name.to_owned(), value);
    if let Some(balance) = ratio.and_then(|ratio| ratio.balance) {
        let measured = [
            balance.read_bytes_per_s,
            balance.threads,
            balance.cache_bytes,
            balance.encoded_seconds,
            balance.bmp_seconds,
        ];
        put("ratio-balance", measured.map(|number| number.to_string()).join(","));
    }
    if let Some(prefix) = &options.prefix {
        put("prefix", prefix.to_string());
    }
    if !options.drop_fields.is_empty() {
        put("drop-fields", options.drop_fields.join(","));
    }
    if let Some(boxes) = options.boxes {
        put("boxes", boxes.to_string());
    }
    if !options.label_columns.is_empty() {
        put("label-columns", options.label_columns.join(","));
    }
    if let Some(classes) = classes::param(options) {
        put("classes", classes);
    }
    if let Some(share) = options.sample {
        put("sample", share.to_string());
    }
    if let Some(per) = options.per {
        put("per", per.to_string());
    }
    if options.shuffle {
        put("shuffle", "on".into());
    }
    if !options.split.is_empty() {
        let parts: Vec<_> = options.split.iter().map(ToString::to_string).collect();
        put("split", parts.join(","));
    }
    let mixes = matches!(options.encode, Some(Encoding::Mix(_)));
    if mixes || options.shuffle || options.sample.is_some() || !options.split.is_empty() {
        put("seed", options.seed.to_string());
    }
    Ok(params)
}

fn format(options: &PackOptions, out: Option<&Path>) -> Result<Box<dyn Format>> {
    let formats = fdconvert_reader::formats();
    let names = || fdconvert_reader::names_of(&formats);
    let chosen = match &options.format {
        Some(name) => formats
            .iter()
            .find(|format| {
                format.name() == name.as_str() || format.aliases().contains(&name.as_str())
            })
            .ok_or_else(|| {
                Error::usage(
                    option::FORMAT,
                    format!("unknown `{name}`; expected one of: {}", names()),
                )
            }),
        None => {
            let out = out.ok_or_else(|| {
                Error::usage(option::FORMAT, format!("say which, one of: {}", names()))
            })?;
            formats.iter().find(|format| format.suits(out)).ok_or_else(|| {
                let what = format!(
                    "the extension of {} names no format, which is one of: {}",
                    out.display(),
                    names()
                );
                Error::usage("output", what).cure("to choose one", option::FORMAT)
            })
        }
    }?;
    let values = format_values(options, chosen.options())?;
    values.check(chosen.name(), chosen.options())?;
    chosen.with_options(&values)
}

/// Options of the format, with sizes as numbers of bytes: they may have been given with a unit.
fn format_values(options: &PackOptions, known: &[FormatOption]) -> Result<OptionValues> {
    let mut values = options.format_options.clone();
    for option in known.iter().filter(|option| option.kind == OptionKind::Bytes) {
        if let Some(text) = values.get_mut(option.name)
            && text.parse::<u64>().is_err()
        {
            let bytes = text.parse::<ByteCount>();
            *text = bytes.map_err(|what| Error::usage(option.name, what))?.0.to_string();
        }
    }
    Ok(OptionValues(values))
}

fn policy(options: &PackOptions) -> Result<Policy> {
    let encode = match (options.encode, options.jpeg_quality) {
        (Some(encoding), _) => encode(encoding, options)?,
        (None, Some(_)) => Encode::Jpeg,
        (None, None) => Encode::Keep,
    };
    let size = match (options.max_side, options.short_side) {
        (Some(_), Some(_)) => {
            let what = "it bounds the same images as `max_side`; give one of them";
            return Err(Error::usage(option::SHORT_SIDE, what));
        }
        (Some(side), None) => Some(Size::MaxSide(side)),
        (None, Some(side)) => Some(Size::ShortSide(side)),
        (None, None) => None,
    };
    let mut policy = Policy {
        encode,
        mixture: None,
        size,
        filter: options.filter,
        jpeg: JpegOptions {
            quality: options.jpeg_quality.unwrap_or(90),
            subsampling: options.subsampling,
            optimize_huffman: options.optimize_huffman,
            restart_rows: options.restart_rows,
        },
        alpha: options.alpha,
        gray: if options.gray_to_rgb { Gray::Expand } else { Gray::Keep },
        orient: !options.no_exif_rotation,
        baseline: options.baseline,
        strict: options.strict,
        check: options.check,
        strip: options.strip_metadata.iter().copied().collect(),
        limits: options.limits(),
    };
    if options.format_options.get("compat").map(String::as_str) == Some("ffcv") {
        as_ffcv_would(&mut policy)?;
    }
    Ok(policy)
}

/// The mixture that the option `ratio` asks for.
fn mixture(
    options: &PackOptions,
    ratio: Option<&Settled>,
    format: &dyn Format,
) -> Result<Option<Mixture>> {
    if options.ratio.is_some() && !format.capabilities().mixes_codecs {
        let what = format!("a {} has one form of image", format.name());
        return Err(Error::usage(option::RATIO, what)
            .cure("to store several", option::FORMAT.with("mixed")));
    }
    Ok(ratio.map(|ratio| Mixture {
        share: ratio.share,
        by: options.by,
        seed: options.seed,
        max_bytes: options.max_bmp_size.0,
    }))
}

/// FFCV decodes with Pillow's `convert("RGB")`, knows no EXIF, resizes by area, and encodes with
/// OpenCV's defaults; what it cannot do must not be asked of a file that is to be its own.
fn as_ffcv_would(policy: &mut Policy) -> Result<()> {
    let refused = |what: &str| Error::usage(option::COMPAT.with("ffcv"), what);
    let not_encoded = |what: &str| {
        Err(refused(what)
            .cure("to encode as FFCV does", option::ENCODE.with("jpeg"))
            .cure("or to store pixels", option::ENCODE.with("raw")))
    };
    match policy.encode {
        Encode::Jpeg | Encode::Raw => {}
        Encode::Smart { .. } | Encode::Mix { .. } => {
            return not_encoded(
                "FFCV's modes `proportion` and `smart` are not reproduced byte for byte; leave it \
                 out, as FFCV reads the file nevertheless",
            );
        }
        Encode::Keep | Encode::Png | Encode::Bmp | Encode::Webp => {
            return not_encoded("FFCV stores what it has encoded itself");
        }
    }
    if policy.filter != Filter::Area {
        return Err(refused("FFCV resizes by area only; leave `filter` out"));
    }
    if matches!(policy.size, Some(Size::ShortSide(_))) {
        return Err(
            refused("FFCV bounds the longer side only").cure("to bound it", option::MAX_SIDE)
        );
    }
    let jpeg = &policy.jpeg;
    if jpeg.subsampling != Subsampling::S420 || jpeg.optimize_huffman || jpeg.restart_rows != 0 {
        let what = "FFCV's JPEGs are 4:2:0 with standard tables and no restart markers";
        return Err(refused(what));
    }
    policy.gray = Gray::Expand;
    policy.orient = false;
    Ok(())
}

fn encode(encoding: Encoding, options: &PackOptions) -> Result<Encode> {
    if options.jpeg_quality.is_some()
        && matches!(encoding, Encoding::Png | Encoding::Bmp | Encoding::Webp | Encoding::Raw)
    {
        let what = format!("`{}` writes no JPEG", option::ENCODE.with(encoding));
        return Err(Error::usage(option::JPEG_QUALITY, what));
    }
    Ok(match encoding {
        Encoding::Keep => Encode::Keep,
        Encoding::Jpeg => Encode::Jpeg,
        Encoding::Png => Encode::Png,
        Encoding::Bmp => Encode::Bmp,
        Encoding::Webp => Encode::Webp,
        Encoding::Raw => Encode::Raw,
        Encoding::Smart => Encode::Smart { ratio: options.smart_ratio },
        Encoding::Mix(share) => Encode::Mix { jpeg_share: share.get(), seed: options.seed },
    })
}

/// Refuses places inside JPEGs where the format has no index for them.
fn check_jpeg_index(options: &PackOptions, format: &dyn Format) -> Result<()> {
    if options.jpeg_index.bits().is_none() || format.capabilities().entry_points {
        return Ok(());
    }
    let able =
        fdconvert_reader::formats().into_iter().filter(|format| format.capabilities().entry_points);
    let able: Vec<_> = able.map(|format| format.name()).collect();
    let name = format.name();
    let why = if able.contains(&name) {
        format!("a {name} with these options has no index to store entry points in")
    } else {
        format!("a {name} cannot store entry points; {} can", able.join(", "))
    };
    Err(Error::usage(option::JPEG_INDEX, why))
}
