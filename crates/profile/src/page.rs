//! HTML pages without external parts, readable on paper and on dark screens.
use crate::xml::escape;
use std::fmt::Write;

/// Colours for screens, dark screens and paper. Nothing is loaded from outside.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1d21; --paper: #ffffff; --faint: #d5d9de;
  --quiet: #5b636d; --loading: #1f6fb2; --decoding: #c2560c; --both: #b9c0c8; --warn: #9a2a1d; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #16191d; --faint: #353b43; --quiet: #9aa3ad;
    --loading: #6cb3ef; --decoding: #f2984f; --both: #4a525c; --warn: #ff8d7d; } }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #ccc; --quiet: #444;
    --loading: #1f6fb2; --decoding: #c2560c; --both: #bbb; --warn: #9a2a1d; }
  table, svg { break-inside: avoid; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.quiet { color: var(--quiet); margin-top: 0; } .warn { color: var(--warn); font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; white-space: nowrap; padding: .25rem .5rem; border-bottom: 1px solid var(--faint); }
th { font-weight: 600; } th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .tick { fill: var(--quiet); }
svg polyline { fill: none; stroke-width: 2; }
svg .grid { stroke: var(--faint); } svg .loading { stroke: var(--loading); }
svg .decoding { stroke: var(--decoding); stroke-dasharray: 7 4; }
svg .both { stroke: var(--both); stroke-width: 5; }
svg .chosen { stroke: var(--ink); stroke-dasharray: 2 4; } svg .point { fill: var(--ink); }
svg .range { stroke: var(--ink); stroke-width: 2; }
svg .measured { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
@media (max-width: 36rem) {
  th, td { white-space: normal; overflow-wrap: anywhere; }
  .scroll > svg { min-width: 36rem; } .scroll > svg.histogram { min-width: 0; font-size: 24px; }
  svg .second { display: none; } }
";

/// Additional style for the pictures of comparisons.
const COMPARED: &str = "
svg .ours { fill: var(--loading); } svg .others { fill: var(--decoding); }
svg .mark { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
svg .series0 { stroke: var(--loading); } svg .series1 { stroke: var(--decoding); }
svg .series2 { stroke: var(--ink); stroke-dasharray: 7 4; }
svg .series3 { stroke: var(--loading); stroke-dasharray: 2 4; }
svg .series4 { stroke: var(--decoding); stroke-dasharray: 2 4; }
svg .series5 { stroke: var(--both); }
.texts th, .texts td { text-align: left; vertical-align: top; white-space: normal; }
.texts td:last-child { font-weight: 600; }
li { margin: .2rem 0; } code { overflow-wrap: anywhere; }
";

/// A page under construction, from top to bottom. Texts are escaped.
#[derive(Debug, Clone)]
pub struct Page {
    html: String,
}

impl Page {
    /// Creates a page for comparisons, with its title as the first heading.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self::styled(title, &[STYLE, COMPARED])
    }

    pub(crate) fn of_profile(title: &str) -> Self {
        Self::styled(title, &[STYLE])
    }

    fn styled(title: &str, styles: &[&str]) -> Self {
        let title = escape(title);
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width\"/>\n\
             <title>{title}</title>\n<style>{}</style>\n</head>\n<body>\n\
             <h1>{title}</h1>\n",
            styles.concat()
        );
        Self { html }
    }

    /// Adds a heading within the page.
    pub fn heading(&mut self, text: &str) {
        self.add(&format!("<h2>{}</h2>", escape(text)));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.add(&format!("<p>{}</p>", escape(text)));
    }

    /// Adds a de-emphasised paragraph.
    pub fn quiet(&mut self, text: &str) {
        self.add(&format!("<p class=\"quiet\">{}</p>", escape(text)));
    }

    /// Adds a line of code, such as a command.
    pub fn code(&mut self, text: &str) {
        self.add(&format!("<p><code>{}</code></p>", escape(text)));
    }

    /// Adds a list.
    pub fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) {
        let items = items.into_iter().map(|item| format!("<li>{}</li>\n", escape(item.as_ref())));
        let items: String = items.collect();
        self.add(&format!("<ul>\n{items}</ul>"));
    }

    /// Adds a table; the first column is aligned left, numbers are aligned right.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let rows = rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect());
        self.add(table(head, rows.collect()).trim_end());
    }

    /// Adds a table of texts, the last of which in each row stands out.
    pub fn texts(&mut self, head: &[&str], rows: &[Vec<String>]) {
        self.add("<div class=\"texts\">");
        self.table(head, rows);
        self.add("</div>");
    }

    /// Adds a picture, with texts that are already escaped.
    pub fn picture(&mut self, svg: &str) {
        self.add(&format!("<div class=\"scroll\">{}</div>", svg.trim_end()));
    }

    pub(crate) fn add(&mut self, html: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.html, "{html}");
    }

    /// Returns the page.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.html.push_str("</body>\n</html>\n");
        self.html
    }
}

/// Formats a count in groups of three digits.
///
/// ```
/// use fdconvert_profile::grouped;
///
/// assert_eq!([7, 1024, 42_310_667].map(grouped), ["7", "1,024", "42,310,667"]);
/// ```
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a table of HTML cells.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>"));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_string()).collect();
    let body: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<div class=\"scroll\"><table>\n{}{body}</table></div>\n", row(&head, "th"))
}
