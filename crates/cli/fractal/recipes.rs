//! `fdconvert fractal recipes`.
use crate::{Outcome, Session};
use fdconvert_core::Result;
use fdconvert_fractal::{FAMILIES, RECIPE_KEYS};
use std::fmt::Write;

pub(crate) fn run(session: &Session) -> Result<Outcome> {
    let mut text = String::from("fractal:FAMILY?key=value&key=value...\n\nFamilies:\n");
    // Writing to a string cannot fail.
    for family in FAMILIES {
        let _ = writeln!(text, "  {:12} {}", family.name, family.about);
    }
    let _ = writeln!(text, "\nKeys, all optional [default]:");
    for key in RECIPE_KEYS {
        let _ = writeln!(text, "  {:14} {}", key.name, key.about);
    }
    session.print(&text)?;
    Ok(Outcome::Complete)
}
