use std::{fs, path::Path};
use syn::{Attribute, Item, Meta};

/// Counts what a newcomer has to learn; empty for other projects.
pub(super) fn table(root: &Path) -> String {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let glossary = read("docs/architecture.md");
    let words = glossary.split_once("## Glossary").map_or("", |(_, words)| words);
    let n_words = words.lines().filter(|line| line.starts_with("| ")).count().saturating_sub(1);
    let facade = syn::parse_file(&read("crates/fdconvert/src/lib.rs"));
    let n_names = facade.map_or(0, |file| file.items.iter().map(exported).sum());
    if n_words == 0 || n_names == 0 {
        return String::new();
    }
    let folders = ["crates", "."].map(|folder| fs::read_dir(root.join(folder)));
    let folders = folders.into_iter().flatten().flatten().flatten();
    let left_out = |name: &std::ffi::OsStr| name == "fuzz" || name == "xtask";
    let n_crates = folders
        .filter(|entry| entry.path().join("Cargo.toml").is_file() && !left_out(&entry.file_name()))
        .count();
    let decisions = fs::read_dir(root.join("docs/decisions"));
    let is_decision = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let n_decisions = decisions.into_iter().flatten().flatten();
    let n_decisions =
        n_decisions.filter(|entry| is_decision(&entry.file_name().to_string_lossy())).count();
    format!(
        "crates                                 {n_crates}\n\
         names that `fdconvert` exports         {n_names}\n\
         words in the glossary                  {n_words}\n\
         decisions                              {n_decisions}\n"
    )
}

/// Names that an item of a crate's root exports, but for what is hidden.
fn exported(item: &Item) -> usize {
    fn leaves(tree: &syn::UseTree) -> usize {
        match tree {
            syn::UseTree::Path(path) => leaves(&path.tree),
            syn::UseTree::Group(group) => group.items.iter().map(leaves).sum(),
            _ => 1,
        }
    }
    let is_public = |it: &syn::Visibility| matches!(it, syn::Visibility::Public(_));
    let is_shown = |it: &[Attribute]| !it.iter().any(|it| it.path().is_ident("doc") && is_list(it));
    match item {
        Item::Use(it) if is_public(&it.vis) => leaves(&it.tree),
        Item::Fn(it) if is_public(&it.vis) => 1,
        Item::Mod(it) if is_public(&it.vis) && is_shown(&it.attrs) => {
            it.content.as_ref().map_or(1, |(_, items)| items.iter().map(exported).sum())
        }
        _ => 0,
    }
}

fn is_list(attribute: &Attribute) -> bool {
    matches!(attribute.meta, Meta::List(_))
}
