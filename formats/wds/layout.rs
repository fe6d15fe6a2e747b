//! File names, and the blocks of a tar.
use crate::{shards::split_in_names, wds::format::FORMAT};
use fdconvert_core::{Error, Ignored, Result, Shard};
use std::path::{Path, PathBuf};

/// Block size: everything in a tar is a multiple of this.
pub(crate) const BLOCK: u64 = 512;
/// Longest name without `prefix`, which not every reader supports.
pub(crate) const MAX_NAME_BYTES: usize = 99;
/// Largest size that eleven octal digits hold.
pub(crate) const MAX_MEMBER_BYTES: u64 = (1 << 33) - 1;
/// The two blocks of zeros that end a tar.
pub(crate) const END: [u8; 1024] = [0; 1024];

/// Name of a shard's files without their extension.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn stem(shard: &Shard) -> Result<String> {
    let split = split_in_names(shard)?;
    Ok(format!("{split}-{:06}", shard.number))
}

pub(crate) fn tar_path(out: &Path, stem: &str) -> PathBuf {
    out.join(format!("{stem}.tar"))
}

pub(crate) fn index_path(tar: &Path) -> PathBuf {
    tar.with_extension("fdx")
}

/// The header block of a member: plain USTAR, and a function of name and size alone.
#[cfg(feature = "write")]
pub(crate) fn header(name: &str, len: u64) -> Result<[u8; BLOCK as usize]> {
    let mut header = tar::Header::new_ustar();
    let named = name.len() <= MAX_NAME_BYTES && header.set_path(name).is_ok();
    if !named || len > MAX_MEMBER_BYTES {
        let what = format!("a shard cannot hold `{name}` of {len} bytes");
        return Err(Error::usage(FORMAT, what));
    }
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o444);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(len);
    header.set_cksum();
    Ok(*header.as_bytes())
}

/// Bytes of a member with header and padding.
pub(crate) fn member_bytes(len: u64) -> u64 {
    BLOCK + len.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Counts a file of a tar that belongs to no sample.
pub(crate) fn count(name: &[u8], ignored: &mut Ignored) {
    let is_hidden = |part: &[u8]| part.starts_with(b".") && part != b"." && part != b"..";
    let mut parts = name.split(|&byte| byte == b'/');
    if parts.clone().any(|part| part == b"__MACOSX") {
        ignored.macosx = 1;
    } else if parts.any(is_hidden) {
        ignored.hidden += 1;
    } else {
        let name = String::from_utf8_lossy(name).to_lowercase();
        let last = name.rsplit('/').next().unwrap_or(&name);
        let extension = last.rsplit_once('.').map(|(_, extension)| format!(".{extension}"));
        ignored.count_file(extension.unwrap_or_else(|| "no extension".to_owned()));
    }
}
