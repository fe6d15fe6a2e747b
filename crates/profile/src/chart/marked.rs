//! Horizontal bars of values, one below the other, with marks for published values.
use super::svg::{Anchor, Svg, ticks};

const WIDTH: f64 = 760.0;
/// Room for the value after a bar.
const RIGHT: f64 = 92.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;
const ROW: f64 = 26.0;
const BAR: f64 = 14.0;
/// Approximate width of a letter.
const LETTER: f64 = 7.0;
const MAX_LETTERS: usize = 44;

/// Style of a picture in a separate file.
const STYLE: &str = "svg { font: 13px system-ui, sans-serif; background: #ffffff; } \
    text { fill: #1a1d21; } .tick { fill: #5b636d; } .grid { stroke: #d5d9de; } \
    .ours { fill: #c2560c; } .others { fill: #1f6fb2; } \
    .range { stroke: #1a1d21; stroke-width: 2; } \
    .mark { fill: #ffffff; stroke: #1a1d21; stroke-width: 2; }";

/// Bars on one axis that begins at 0, for a [`Page`](crate::Page).
#[derive(Debug, Clone)]
pub struct MarkedBars {
    /// Title of the picture, for screen readers.
    pub title: String,
    /// Quantity and unit of the axis.
    pub unit: String,
    /// Meaning of a mark; empty without marks.
    pub mark: String,
    /// The bars from top to bottom.
    pub bars: Vec<MarkedBar>,
}

/// A bar with its range and its mark.
#[derive(Debug, Clone)]
pub struct MarkedBar {
    /// Name of the bar.
    pub name: String,
    /// Length of the bar; not drawn if it is not finite.
    pub value: f64,
    /// Least and greatest of the values with `value` as median.
    pub range: (f64, f64),
    /// True for fdconvert's own bar.
    pub is_ours: bool,
    /// Position of the mark.
    pub mark: Option<f64>,
}

impl MarkedBars {
    /// Returns the picture, for a page that defines the colours.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.drawn("", "")
    }

    /// Returns the picture as a file, with its colours.
    #[must_use]
    pub fn to_svg_file(&self) -> String {
        let (width, height) = (WIDTH, self.bottom() + BOTTOM);
        let size =
            format!(" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\"");
        let ground = format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        self.drawn(&size, &format!("<style>{STYLE}</style>\n{ground}"))
    }

    fn bottom(&self) -> f64 {
        TOP + ROW * self.bars.len() as f64
    }

    /// `before` comes before the drawn elements.
    fn drawn(&self, attributes: &str, before: &str) -> String {
        let names = self.bars.iter().map(|bar| shortened(&bar.name).chars().count());
        let left = 20.0 + LETTER * names.max().unwrap_or(0) as f64;
        let bottom = self.bottom();
        let mut svg = Svg::new((WIDTH, bottom + BOTTOM), &self.title, attributes);
        if !before.is_empty() {
            svg.add(format_args!("{before}"));
        }
        let end = self.end();
        let x = |value: f64| left + (value / end).clamp(0.0, 1.0) * (WIDTH - RIGHT - left);
        for value in ticks(end) {
            svg.line("grid", (x(value), TOP), (x(value), bottom));
            svg.text("tick", (x(value), bottom + 16.0), Anchor::Middle, &short(value));
        }
        let middle = (left + WIDTH - RIGHT) / 2.0;
        svg.text("tick", (middle, bottom + 36.0), Anchor::Middle, &self.unit);
        self.legend(&mut svg, left);
        for (row, bar) in self.bars.iter().enumerate() {
            let top = TOP + ROW * row as f64 + (ROW - BAR) / 2.0;
            svg.text("label", (left - 8.0, top + 11.5), Anchor::End, &shortened(&bar.name));
            if !bar.value.is_finite() {
                svg.text("tick", (left + 4.0, top + 11.5), Anchor::Start, "not measured");
                continue;
            }
            let class = if bar.is_ours { "ours" } else { "others" };
            svg.rect(class, (left, top), (x(bar.value) - left, BAR));
            let (least, most) = bar.range;
            if least < most {
                let at = top + BAR / 2.0;
                svg.line("range", (x(least), at), (x(most), at));
            }
            if let Some(mark) = bar.mark.filter(|mark| mark.is_finite()) {
                diamond(&mut svg, (x(mark), top + BAR / 2.0));
            }
            let shown = [Some(bar.value), Some(most), bar.mark];
            let behind = shown.into_iter().flatten().map(x).fold(left, f64::max);
            svg.text("label", (behind + 10.0, top + 11.5), Anchor::Start, &short(bar.value));
        }
        svg.finish()
    }

    fn end(&self) -> f64 {
        let values =
            self.bars.iter().flat_map(|bar| [Some(bar.value), Some(bar.range.1), bar.mark]);
        let finite = values.flatten().filter(|value| value.is_finite());
        let end = finite.fold(0.0, f64::max);
        if end > 0.0 { end } else { 1.0 }
    }

    fn legend(&self, svg: &mut Svg, left: f64) {
        let mut x = left;
        let has = |ours: bool| self.bars.iter().any(|bar| bar.is_ours == ours);
        for (class, name, is_there) in
            [("ours", "fdconvert", has(true)), ("others", "others", has(false))]
        {
            if is_there {
                svg.rect(class, (x, 12.0), (10.0, 10.0));
                svg.text("label", (x + 15.0, 21.0), Anchor::Start, name);
                x += 40.0 + LETTER * name.len() as f64;
            }
        }
        if self.bars.iter().any(|bar| bar.mark.is_some()) {
            diamond(svg, (x + 5.0, 17.0));
            svg.text("label", (x + 17.0, 21.0), Anchor::Start, &self.mark);
        }
    }
}

/// Draws a mark around a position.
pub(super) fn diamond(svg: &mut Svg, (x, y): (f64, f64)) {
    svg.add(format_args!(
        "<path class=\"mark\" d=\"M{x:.1} {:.1} l6 6 l-6 6 l-6 -6 z\"/>",
        y - 6.0
    ));
}

/// Formats a value with three digits.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        large if large >= 100.0 => format!("{value:.0}"),
        medium if medium >= 10.0 => trimmed(format!("{value:.1}")),
        small if small >= 0.1 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.4}")),
    }
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_LETTERS) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or(name)),
    }
}
