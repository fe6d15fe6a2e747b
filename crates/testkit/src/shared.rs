//! The data folder next to the repository, and the tests that need it.
use crate::fixtures::workspace;
use std::path::PathBuf;

/// Returns the folder of large image sets and recorded files outside the repository:
/// `FDCONVERT_SHARED`, else `shared` next to the repository.
///
/// # Panics
/// When it is absent. Tests that use it belong in [`needs_shared!`](crate::needs_shared), which
/// then ignores them by name.
#[must_use]
pub fn shared() -> PathBuf {
    let folder = folder();
    let there = folder.join("data").is_dir();
    assert!(there, "no {}; FDCONVERT_SHARED names another folder", folder.join("data").display());
    folder
}

/// The same folder that `build.rs` finds when the tests are compiled.
fn folder() -> PathBuf {
    let named = std::env::var_os("FDCONVERT_SHARED").filter(|name| !name.is_empty());
    named.map_or_else(|| workspace().join("../shared"), PathBuf::from)
}

/// Defines tests that need [`shared`](crate::fixtures::shared). Without the folder they are
/// ignored, and the runner counts them with the reason.
///
/// ```ignore
/// fdconvert_testkit::needs_shared! {
///     /// Comments and attributes are kept.
///     fn photos_survive() {
///         round_trip(&fixtures::shared().join("data/images"));
///     }
/// }
/// ```
#[cfg(has_shared)]
#[macro_export]
macro_rules! needs_shared {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $($(#[$attribute])* #[test] fn $name() $body)*
    };
}

/// Defines tests that need [`shared`](crate::fixtures::shared), which was absent during
/// compilation: they are ignored, and the runner counts them with the reason.
#[cfg(not(has_shared))]
#[macro_export]
macro_rules! needs_shared {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $(
            $(#[$attribute])*
            #[test]
            #[ignore = "needs the data folder ../shared"]
            fn $name() $body
        )*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder may have been added since `build.rs` ran.
    #[test]
    fn the_build_knows_whether_the_folder_is_there() {
        let there = folder().join("data").is_dir();
        assert_eq!(there, cfg!(has_shared), "run `touch crates/testkit/build.rs` and test again");
    }

    crate::needs_shared! {
        fn the_folder_has_its_parts() {
            for part in ["data/bad", "data/fractaldb", "data/golden-beton", "data/images"] {
                assert!(shared().join(part).is_dir(), "{part}");
            }
        }
    }
}
