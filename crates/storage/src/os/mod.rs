//! What Unix and Windows do differently with files and their names.
//!
//! Names of samples and of the files of a dataset are bytes with `/` between folders on every
//! system: [`slashed`] makes them of paths, [`path_of`] makes paths of them.
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod system;

pub use system::{
    FileExt, changed, identity, identity_at, identity_behind, modified, path_of, symlink,
};
#[cfg(feature = "write")]
pub(crate) use system::{
    Folder, is_not_offered, is_pipe, is_socket, n_names, not_following, rename_new,
};

use std::{borrow::Cow, path::Path};

/// Device and number of a file, which survive a rename.
pub type Identity = (u64, u64);

/// Environment variable that has the user's folder.
#[cfg(feature = "stores")]
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// Number of the error for links that form a cycle.
pub const TOO_MANY_LINKS: i32 = match () {
    () if cfg!(target_os = "linux") => 40,
    // ERROR_CANT_RESOLVE_FILENAME
    () if cfg!(windows) => 1921,
    () => 62,
};

/// Returns the bytes of a relative path, with `/` between its parts.
#[must_use]
pub fn slashed(path: &Path) -> Cow<'_, [u8]> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) { with_slashes(bytes).into() } else { bytes.into() }
}

/// Returns the name of a file by its path below a folder, with `/` between folders; `None` if it is
/// elsewhere, or not UTF-8.
#[must_use]
pub fn name_below<'a>(path: &'a Path, folder: &Path) -> Option<Cow<'a, str>> {
    match slashed(path.strip_prefix(folder).ok()?) {
        Cow::Borrowed(name) => str::from_utf8(name).ok().map(Cow::Borrowed),
        Cow::Owned(name) => String::from_utf8(name).ok().map(Cow::Owned),
    }
}

fn with_slashes(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect()
}

/// Why no file of this system can have that name, which is a part of a path; `None` if one can. On
/// Windows such a name could lead out of its folder, or to a device.
#[must_use]
pub fn unfit(name: &[u8]) -> Option<&'static str> {
    if cfg!(windows) { unfit_on_windows(name) } else { None }
}

fn unfit_on_windows(name: &[u8]) -> Option<&'static str> {
    if name.iter().any(|byte| *byte < b' ' || br#"<>:"|?*\"#.contains(byte)) {
        return Some(r#"a control character, or one of `<>:"|?*\`"#);
    }
    if name.ends_with(b".") || name.ends_with(b" ") {
        return Some("a dot or a blank at its end");
    }
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let stem = stem.trim_ascii_end().to_ascii_uppercase();
    let is_numbered =
        matches!(&*stem, [b'C', b'O', b'M', b'0'..=b'9'] | [b'L', b'P', b'T', b'0'..=b'9']);
    let is_device = matches!(&*stem, b"CON" | b"PRN" | b"AUX" | b"NUL" | b"CONIN$" | b"CONOUT$");
    (is_device || is_numbered).then_some("the name of a device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_takes_otherwise_are_known() {
        for name in
            ["..\\a", "C:", "a:b", "what?", "a\n", "a.", "a ", "..", "nul", "Com1.jpg", "con .x"]
        {
            assert!(unfit_on_windows(name.as_bytes()).is_some(), "{name}");
        }
        for name in ["a.jpg", ".a", "caf\u{e9}", "console", "com10", "nula.png", "a b"] {
            assert_eq!(unfit_on_windows(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn paths_become_names_with_slashes() {
        assert_eq!(with_slashes(br"train\a.jpg"), b"train/a.jpg");
        assert_eq!(slashed(&Path::new("train").join("a.jpg")), &b"train/a.jpg"[..]);
        assert_eq!(path_of(b"train/a.jpg"), Path::new("train/a.jpg"));
    }
}
