//! Whether options mean something together, before a source is opened.
use crate::{ByteCount, PackOptions, out as output, policy::policy, unused};
use fdconvert_codec::Policy;
use fdconvert_core::{
    Error, Format, FormatOption, OptionKind, OptionValues, Result, Schema, message, named,
};
use std::path::Path;

/// What options alone decide.
pub(crate) struct Checked {
    pub(crate) format: Box<dyn Format>,
    /// Without the mixture, for which a ratio may have to be measured.
    pub(crate) policy: Policy,
}

/// Refuses all that can be refused of the options without a source; `out` tells the format where
/// no option does.
///
/// # Errors
/// `Usage`, naming the option.
pub(crate) fn check(options: &PackOptions, out: Option<&Path>) -> Result<Checked> {
    let format = format(options, out)?;
    let policy = policy(options)?;
    if options.ratio.is_some() && !format.capabilities().mixes_codecs {
        let mixed = named::FORMAT.with("mixed");
        let what = message!("a {} has one form of image; use {mixed}", format.name());
        return Err(Error::usage(named::RATIO, what));
    }
    let of_labels = [
        (named::BOXES, options.boxes.is_some()),
        (named::LABEL_COLUMNS, !options.label_columns.is_empty()),
    ];
    if let Some((option, _)) = of_labels.into_iter().find(|(_, is_given)| *is_given)
        && options.labels.is_none()
    {
        return Err(Error::usage(option, message!("it goes with {}", named::LABELS)));
    }
    if options.per.is_some() && options.sample.is_none() {
        let what = message!("it goes with {}", named::SAMPLE.with("10%"));
        return Err(Error::usage(named::PER, what));
    }
    check_jpeg_index(options, &*format)?;
    refuse_shards_of_one_file(options, &*format)?;
    unused::refuse(options, &policy)?;
    if let Some(out) = out {
        output::check_name(out, &*format)?;
    }
    Ok(Checked { format, policy })
}

/// Refuses options for images where the source has none: they would be ignored.
pub(crate) fn refuse_without_images(options: &PackOptions, schema: &Schema) -> Result<()> {
    if schema.first_image().is_some() {
        return Ok(());
    }
    let given = [
        (named::ENCODE, options.encode.is_some()),
        (named::JPEG_QUALITY, options.jpeg_quality.is_some()),
        (named::MAX_SIDE, options.max_side.is_some()),
        (named::SHORT_SIDE, options.short_side.is_some()),
        (named::RATIO, options.ratio.is_some()),
        (named::BASELINE, options.baseline),
        (named::STRIP_METADATA, !options.strip_metadata.is_empty()),
        (named::DEDUP, options.dedup.is_some()),
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

/// The format that an option names, or the extension of the output.
///
/// # Errors
/// `Usage` where neither does.
pub(crate) fn format(options: &PackOptions, out: Option<&Path>) -> Result<Box<dyn Format>> {
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
                    named::FORMAT,
                    format!("unknown `{name}`; expected one of: {}", names()),
                )
            }),
        None => {
            let out = out.ok_or_else(|| {
                Error::usage(named::FORMAT, format!("say which, one of: {}", names()))
            })?;
            formats.iter().find(|format| format.suits(out)).ok_or_else(|| {
                let what = message!(
                    "the extension of {} names no format; say {}, one of: {}",
                    out.display(),
                    named::FORMAT.with("NAME"),
                    names()
                );
                Error::usage("output", what)
            })
        }
    }?;
    let values = format_values(options, chosen.options())?;
    values.check(chosen.name(), chosen.options())?;
    chosen.with_options(&values)
}

/// Options of the format, with sizes as numbers of bytes: they may have been given with a unit.
pub(crate) fn format_values(options: &PackOptions, known: &[FormatOption]) -> Result<OptionValues> {
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

/// Options on shards say nothing about a format of one file.
fn refuse_shards_of_one_file(options: &PackOptions, format: &dyn Format) -> Result<()> {
    let given = [
        (named::SHARD_COUNT, options.shard_count.is_some()),
        (named::SHARD_SIZE, options.shard_size.is_some()),
        (named::SHARDS, options.shards.is_some()),
        (named::SHARDS_MULTIPLE_OF, options.shards_multiple_of != 1),
    ];
    // A formula says itself what it cannot do.
    if format.is_sharded() || format.capabilities().formulas_only {
        return Ok(());
    }
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = message!(
                "a {} has no shards; leave it out, or choose a format of shards ({}, mds or mixed)",
                format.name(),
                named::FORMAT.with("wds")
            );
            Err(Error::usage(option, what))
        }
    }
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
    Err(Error::usage(named::JPEG_INDEX, why))
}
