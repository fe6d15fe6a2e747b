//! Checks of the documents: links lead somewhere, named files exist, the book has every page, and
//! the words are plain English. `cargo xtask guide` runs the examples of the pages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Words of a former dialect of this project, and their replacements.
const DIALECT: &[(&str, &str)] = &[
    ("anew", "again, re-encoded"),
    ("nobody", "name who, or turn the sentence round"),
    ("whoever", "name who"),
    ("goes on", "resumes, continues"),
    ("go on", "resume, continue"),
    ("went on", "resumed, continued"),
    ("is no", "is not a"),
];

/// Words of [`DIALECT`] that are also banned from code.
const CODE: &[&str] = &["anew", "nobody", "whoever", "goes on"];

#[test]
fn links_lead_to_files_and_headings() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (line, target) in links(&read(&page)) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.parent().unwrap();
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let leads =
                file.exists() && (heading.is_empty() || headings(&read(&file)).contains(heading));
            if !leads {
                wrong.push(format!("{}:{line}: {target} leads nowhere", show(&page)));
            }
        }
    }
    report(&wrong);
}

/// `mdbook` renders only the files below `docs`.
#[test]
fn pages_of_the_book_link_to_pages_of_the_book() {
    let docs = root().join("docs").canonicalize().unwrap();
    let mut wrong = Vec::new();
    for page in pages().into_iter().filter(|page| page.starts_with(root().join("docs"))) {
        for (line, target) in links(&read(&page)) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() {
                continue;
            }
            let file = page.parent().unwrap().join(file);
            let inside = file.canonicalize().is_ok_and(|file| file.starts_with(&docs));
            if !inside || file.is_dir() {
                wrong.push(format!("{}:{line}: {target} is not in the book", show(&page)));
            }
        }
    }
    report(&wrong);
}

#[test]
fn the_book_has_every_page() {
    let summary = root().join("docs/SUMMARY.md");
    let listed: BTreeSet<PathBuf> = links(&read(&summary))
        .into_iter()
        .map(|(_, target)| root().join("docs").join(target))
        .collect();
    let missing: Vec<String> = pages()
        .into_iter()
        .filter(|page| page.starts_with(root().join("docs")) && *page != summary)
        .filter(|page| !listed.contains(page))
        .map(|page| format!("{} is not in docs/SUMMARY.md", show(&page)))
        .collect();
    report(&missing);
}

/// Paths, and functions as `a/b.rs:function`, in the pages that lead through the code; each page
/// with the least number of functions that it names.
#[test]
fn files_and_functions_that_are_named_exist() {
    let mut wrong = Vec::new();
    let pages = [("docs/architecture.md", 40), ("docs/newcomers.md", 40), ("CONTRIBUTING.md", 0)];
    for (page, at_least) in pages {
        let mut n_functions = 0;
        let text = read(&root().join(page));
        for name in in_backticks(&text) {
            let (file, function) = name.split_once(':').unwrap_or((name, ""));
            if !is_path(file) {
                continue;
            }
            let path = root().join(file);
            if !path.exists() {
                wrong.push(format!("{page}: {file} does not exist"));
            } else if !function.is_empty() {
                n_functions += 1;
                let text = read(&path);
                let keywords = ["fn ", "def "];
                let is_there = keywords.iter().any(|keyword| {
                    let starts = ["(", "<"].map(|end| format!("{keyword}{function}{end}"));
                    starts.iter().any(|start| text.contains(start.as_str()))
                });
                if !is_there {
                    wrong.push(format!("{page}: {file} has no function {function}"));
                }
            }
        }
        let are_there = n_functions >= at_least;
        assert!(are_there, "{page} names only {n_functions} functions: are the others gone?");
    }
    report(&wrong);
}

#[test]
fn words_are_plain_english() {
    let mut wrong = Vec::new();
    for page in pages() {
        let mut in_block = false;
        for (number, line) in read(&page).lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            } else if !in_block {
                for (word, instead) in dialect(line) {
                    let at = format!("{}:{}", show(&page), number + 1);
                    wrong.push(format!("{at}: `{word}`; write {instead}"));
                }
            }
        }
    }
    report(&wrong);
}

/// The same for comments and messages in code.
#[test]
fn words_of_the_code_are_plain_english() {
    let mut wrong = Vec::new();
    let sources = below(&root(), "rs").into_iter().filter(|file| !file.ends_with(file!()));
    for file in sources {
        for (number, line) in read(&file).lines().enumerate() {
            for (word, instead) in dialect(line).filter(|(word, _)| CODE.contains(word)) {
                wrong.push(format!("{}:{}: `{word}`; write {instead}", show(&file), number + 1));
            }
        }
    }
    report(&wrong);
}

#[test]
fn dialect_is_found_and_english_is_not() {
    let found = |line: &str| dialect(line).map(|(word, _)| *word).collect::<Vec<_>>();
    assert_eq!(found("It is no error, and goes on anew."), ["anew", "goes on", "is no"]);
    assert_eq!(found("There is no GPU; it is not renewed, and is no longer `nobody`'s."), [""; 0]);
}

#[test]
fn links_headings_and_names_are_found() {
    let text = "# A b: c\n[x](y.md#z) and `[no](link)`\n```\n[no](code)\n# no\n```\n## `D` e\n[u](https://v)\n";
    assert_eq!(links(text), [(2, "y.md#z".to_owned())]);
    assert_eq!(headings(text), BTreeSet::from(["a-b-c".to_owned(), "d-e".to_owned()]));
    assert_eq!(in_backticks("a `b/c.rs:d` e `f`\n"), ["b/c.rs:d", "f"]);
}

/// Yields the words of [`DIALECT`] in a line, outside backticks.
fn dialect(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ` ");
    let letters = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let words: Vec<String> =
        prose.chars().map(letters).collect::<String>().split_whitespace().map(Into::into).collect();
    let text = format!(" {} ", words.join(" "));
    // Both are English.
    let text = text.replace(" there is no ", " ").replace(" is no longer ", " ");
    DIALECT.iter().filter(move |(word, _)| text.contains(&format!(" {word} ")))
}

/// Returns line and target of every relative link outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let outside: Vec<&str> = line.split('`').collect();
        // Code within the text of a link does not matter; a whole link in backticks does not count.
        let line = outside.iter().enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "" });
        let line: String = line.collect();
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Returns headings in the form of link fragments.
fn headings(text: &str) -> BTreeSet<String> {
    let lines = prose(text).filter(|(_, line)| line.starts_with('#'));
    let titles = lines.map(|(_, line)| line.trim_start_matches('#').trim().to_lowercase());
    let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    titles.map(|title| title.chars().filter(keep).collect::<String>().replace(' ', "-")).collect()
}

/// Yields numbered lines outside blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        (!in_block && !is_fence).then_some((number + 1, line))
    })
}

fn in_backticks(text: &str) -> Vec<&str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// Returns true if a name in backticks is a path of the repository.
fn is_path(name: &str) -> bool {
    const FOLDERS: [&str; 9] = [
        "benches/",
        "crates/",
        "docs/",
        "examples/",
        "formats/",
        "fuzz/",
        "scripts/",
        "tests/",
        "xtask/",
    ];
    FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains(['*', ' ', '<'])
}

/// Returns all Markdown of the project.
fn pages() -> Vec<PathBuf> {
    let found = below(&root(), "md");
    assert!(found.len() > 30, "only {} pages: is this the repository?", found.len());
    found
}

/// Returns the files with that extension, except those that tools generate.
fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_left_behind =
                matches!(name.as_str(), "target" | "corpus" | "artifacts" | "node_modules");
            if entry.file_type().unwrap().is_dir() && !name.starts_with('.') && !is_left_behind {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn show(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

fn read(file: &Path) -> String {
    if file.is_dir() {
        return String::new();
    }
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[track_caller]
fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
