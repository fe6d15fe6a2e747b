//! Names, and the codecs that a mixed set can have.
use fdconvert_core::{Codec, Common, Create};
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: &str = "mixed";
pub(crate) const MANIFEST: &str = "fdconvert-mixed.json";
/// The field of the images, the same for all codecs: SPEC.md explains the name.
pub(crate) const IMAGE_FIELD: &str = "png";
/// Every codec; its position is its code.
pub(crate) const CODECS: [Codec; 4] = [Codec::Jpeg, Codec::Png, Codec::Bmp, Codec::Webp];

pub(crate) fn code_of(codec: Codec) -> Option<u8> {
    CODECS.iter().position(|known| *known == codec).map(|code| code as u8)
}

pub(crate) fn folder_name(codec: Codec) -> &'static str {
    codec.extension()
}

pub(crate) fn folder(out: &Path, codec: Codec) -> PathBuf {
    out.join(folder_name(codec))
}

/// Returns the common properties of all samples in a codec's folder.
pub(crate) fn common_of(common: &Common, codec: Codec) -> Common {
    Common { codec: Some(codec), ..common.clone() }
}

/// Returns the request for the part of a shard in one codec.
pub(crate) fn part<'a>(
    request: &Create<'a>,
    folder: &'a Path,
    common: &'a Common,
    overwrite: bool,
) -> Create<'a> {
    Create { out: folder, common, overwrite, ..request.clone() }
}
