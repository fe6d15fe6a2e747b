//! The policy of the options.
use crate::{PackOptions, options::Encoding};
use fdconvert_codec::{Encode, Filter, Gray, JpegOptions, Mixture, Policy, Size, Subsampling};
use fdconvert_core::{Error, Result, option};

/// Returns the policy without the mixture, because a ratio may have to be measured.
///
/// # Errors
/// `Usage` for contradicting options.
pub(crate) fn policy(options: &PackOptions) -> Result<Policy> {
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
    // Any share serves to refuse invalid mixtures.
    let mixture = options.ratio.as_ref().map(|_| mixture(options, 0.0));
    Policy { mixture, ..policy.clone() }.validate()?;
    Ok(policy)
}

/// Returns the mixture for the option `ratio`, with its settled share.
pub(crate) fn mixture(options: &PackOptions, share: f64) -> Mixture {
    Mixture { share, by: options.by, seed: options.seed, max_bytes: options.max_bmp_size.0 }
}

/// FFCV decodes with Pillow's `convert("RGB")`, ignores EXIF, resizes by area, and encodes with
/// OpenCV's defaults; a file that is meant to equal its own must not use other features.
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
