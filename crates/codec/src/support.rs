//! Images that are not decoded: of kinds that fdconvert does not decode, or that this build lacks.
use fdconvert_core::{
    Codec, ImageHeader,
    probe::{self, probe},
};

/// Returns why a sound image cannot be decoded by this build, and what to do; `None` for all images
/// that can.
#[must_use]
pub fn not_decoded(bytes: &[u8], header: &ImageHeader) -> Option<String> {
    lacking(header.codec).or_else(|| probe::not_decoded(bytes, header))
}

/// As [`not_decoded`], for bytes whose header was not read yet.
#[must_use]
pub fn unsupported(bytes: &[u8]) -> Option<String> {
    not_decoded(bytes, &probe(bytes).ok()?)
}

/// Returns why this build cannot decode images of a codec, and what can; `None` if it can.
pub(crate) fn lacking(codec: Codec) -> Option<String> {
    let (name, feature) = match codec {
        Codec::Avif if !cfg!(feature = "avif") => ("AVIF", "avif"),
        Codec::Jxl if !cfg!(feature = "jxl") => ("JPEG XL", "jxl"),
        _ => return None,
    };
    Some(format!(
        "this build cannot decode {name}; the Python package and the released program can, and a \
         build with the feature `{feature}`"
    ))
}
