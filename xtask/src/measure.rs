//! The shape of the code in figures: sizes of files and functions, parameters, types, openings of
//! item docs, and modules that import each other in a circle.
//!
//! `docs/architecture.md` compares them with the figures of other projects; `--root` measures any
//! tree of Rust files. They are a compass: nothing is merged or renamed to please a count.
mod learned;

use crate::failure::Failure;
use clap::Args;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Expr, FnArg, Item, Lit, Meta, Signature, spanned::Spanned, visit::Visit};

/// Measure sizes of files and functions, parameters, types, and how docs of items open.
#[derive(Args)]
pub(crate) struct Options {
    /// Tree to measure; every folder called `target`, `tests`, `benches` or `fuzz` is left out
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

const LEFT_OUT: [&str; 6] = ["target", "tests", "benches", "fuzz", "examples", ".git"];
/// Words that should not open an item's doc instead of a noun or a verb.
const QUESTIONS: [&str; 5] = ["What", "Whether", "Where", "How", "Who"];

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut found = Found::default();
    for path in rust_files(&options.root)? {
        let text = fs::read_to_string(&path)
            .map_err(|cause| Failure::new(format!("cannot read {}: {cause}", path.display())))?;
        // Skips a file of another edition, or a template.
        let Ok(file) = syn::parse_file(&text) else { continue };
        found.files.push(text.lines().count());
        found.visit_file(&file);
        found.imports.insert(path, imports(&file));
    }
    print!("{}", found.table());
    print!("{}", learned::table(&options.root));
    Ok(())
}

fn rust_files(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .map_err(|cause| Failure::new(format!("cannot list {}: {cause}", folder.display())))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[derive(Default)]
struct Found {
    files: Vec<usize>,
    /// Number of lines of each function, with its docs.
    functions: Vec<usize>,
    /// Number of parameters of each function, without the receiver.
    parameters: Vec<usize>,
    n_types: usize,
    n_docs: usize,
    n_questions: usize,
    /// For each file, the modules of its crate that it names.
    imports: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Found {
    fn function(&mut self, signature: &Signature, whole: proc_macro2::Span) {
        self.functions.push(whole.end().line - whole.start().line + 1);
        let of_caller = |argument: &&FnArg| matches!(argument, FnArg::Typed(_));
        self.parameters.push(signature.inputs.iter().filter(of_caller).count());
    }

    fn doc(&mut self, attributes: &[Attribute]) {
        let Some(first) = attributes.iter().find_map(doc_line) else { return };
        self.n_docs += 1;
        let word = first.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        self.n_questions += usize::from(QUESTIONS.contains(&word));
    }

    fn table(mut self) -> String {
        for lines in [&mut self.files, &mut self.functions, &mut self.parameters] {
            lines.sort_unstable();
        }
        let n_lines: usize = self.files.iter().sum();
        let n_functions = self.parameters.len().max(1) as f64;
        let many = self.parameters.iter().filter(|n| **n >= 5).count();
        let mean = self.parameters.iter().sum::<usize>() as f64 / n_functions;
        let types = self.n_types as f64 * 1000.0 / n_lines.max(1) as f64;
        let questions = self.n_questions as f64 * 100.0 / self.n_docs.max(1) as f64;
        let rings = rings(&self.imports);
        let at = |sorted: &[usize], share: f64| {
            sorted.get((sorted.len() as f64 * share) as usize).or(sorted.last()).copied()
        };
        let three = |sorted: &[usize], shares: [f64; 3]| {
            shares.map(|share| at(sorted, share).unwrap_or(0).to_string()).join(" / ")
        };
        format!(
            "lines of Rust                          {n_lines} in {} files\n\
             file median / p90 / max                {}\n\
             function p50 / p99 / max               {}\n\
             parameters: mean, share with 5 or more {mean:.2}, {:.1} %\n\
             types per 1000 lines                   {types:.1}\n\
             item docs that open with a question    {questions:.1} %\n\
             modules that import each other in a ring {}\n{}",
            self.files.len(),
            three(&self.files, [0.5, 0.9, 1.0]),
            three(&self.functions, [0.5, 0.99, 1.0]),
            many as f64 * 100.0 / n_functions,
            rings.iter().map(|(_, names)| names.len()).max().unwrap_or(0),
            rings.iter().map(shown).collect::<String>(),
        )
    }
}

fn shown((root, names): &(PathBuf, Vec<String>)) -> String {
    if names.len() <= 3 {
        return String::new();
    }
    format!("  {}: {}\n", root.display(), names.join(", "))
}

/// Returns the first line of a doc comment.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(doc) = &attribute.meta else { return None };
    let Expr::Lit(text) = &doc.value else { return None };
    let Lit::Str(text) = &text.lit else { return None };
    let text = text.value().trim().to_owned();
    (attribute.path().is_ident("doc") && !text.is_empty()).then_some(text)
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string() == "test"
    })
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(module) if is_test(&module.attrs) => return,
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            _ => &[],
        };
        self.doc(attributes);
        self.n_types += usize::from(matches!(
            item,
            Item::Struct(_) | Item::Enum(_) | Item::Trait(_) | Item::Union(_)
        ));
        syn::visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, item.span());
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.doc(&item.attrs);
        self.function(&item.sig, item.span());
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.doc(&item.attrs);
        syn::visit::visit_trait_item_fn(self, item);
    }
}

/// Returns the first names after `crate::` in the imports of a file.
fn imports(file: &syn::File) -> BTreeSet<String> {
    #[derive(Default)]
    struct Names(BTreeSet<String>);
    fn heads(tree: &syn::UseTree, found: &mut BTreeSet<String>) {
        match tree {
            syn::UseTree::Path(path) => drop(found.insert(path.ident.to_string())),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| heads(tree, found)),
            _ => {}
        }
    }
    impl<'ast> Visit<'ast> for Names {
        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            if let syn::UseTree::Path(path) = &item.tree
                && path.ident == "crate"
            {
                heads(&path.tree, &mut self.0);
            }
        }
    }
    let mut names = Names::default();
    names.visit_file(file);
    names.0
}

/// Returns for each crate its largest ring of top-level modules that reach each other.
fn rings(imports: &BTreeMap<PathBuf, BTreeSet<String>>) -> Vec<(PathBuf, Vec<String>)> {
    let mut crates: BTreeMap<PathBuf, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (path, names) in imports {
        let Some(root) = path.ancestors().find(|folder| folder.join("lib.rs").is_file()) else {
            continue;
        };
        let module = path.strip_prefix(root).ok().and_then(|inner| inner.components().next());
        let module = module.map(|first| first.as_os_str().to_string_lossy().into_owned());
        let module = module.unwrap_or_default().trim_end_matches(".rs").to_owned();
        let known = crates.entry(root.to_owned()).or_default().entry(module.clone()).or_default();
        known.extend(names.iter().filter(|name| **name != module).cloned());
    }
    crates.into_iter().map(|(root, modules)| (root, ring(&modules))).collect()
}

fn ring(modules: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reach = |from: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for to in modules.get(module).into_iter().flatten() {
                if modules.contains_key(to) && seen.insert(to) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> = modules.keys().map(|module| (module, reach(module))).collect();
    let rings = reached.iter().map(|(module, seen)| {
        let comes_back =
            |it: &&&String| reached.get(**it).is_some_and(|back| back.contains(module));
        seen.iter().filter(comes_back).map(|it| (*it).clone()).collect::<Vec<_>>()
    });
    rings.max_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_text() {
        let text = "/// What it is.\npub struct A;\n/// A noun.\nfn f(a: u8, b: u8) {\n}\n\
                    impl A {\n    fn g(&self) {}\n}\n#[cfg(test)]\nmod tests { struct B; }\n";
        let mut found = Found::default();
        found.visit_file(&syn::parse_file(text).unwrap());
        assert_eq!((found.n_types, found.n_docs, found.n_questions), (1, 2, 1));
        assert_eq!((found.functions, found.parameters), (vec![3, 1], vec![2, 0]));
    }

    #[test]
    fn a_ring_has_the_modules_that_reach_each_other() {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let modules = [("a", &["b"][..]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])];
        let modules = modules.map(|(name, uses)| (name.to_owned(), set(uses))).into();
        assert_eq!(ring(&modules), ["a", "b", "c"]);
    }
}
