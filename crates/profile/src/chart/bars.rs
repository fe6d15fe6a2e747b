//! Horizontal bars of rates, in groups one below the other.
use super::svg::{Anchor, Svg, ticks};
use fdconvert_core::images_per_s;

const WIDTH: f64 = 720.0;
/// Room for the value after a bar.
const RIGHT: f64 = 84.0;
const TOP: f64 = 64.0;
/// Room for the labels of the axis.
const BOTTOM: f64 = 48.0;
const ROW: f64 = 64.0;
const BAR: f64 = 12.0;
/// Approximate width of a letter.
const LETTER: f64 = 7.0;
const MAX_LETTERS: usize = 36;

/// Complete style, because the picture is a separate file.
const STYLE: &str = "svg { font: 13px system-ui, sans-serif; background: #ffffff; } \
    text { fill: #1a1d21; } .title { font-size: 15px; font-weight: 600; } \
    .tick { fill: #5b636d; } .grid { stroke: #d5d9de; } \
    .first { fill: #1a1d21; } .second { fill: #1f6fb2; } .third { fill: #c2560c; } \
    .range { stroke: #9aa3ad; stroke-width: 2; }";

/// Groups of three bars on one axis.
#[derive(Debug, Clone)]
pub struct BarChart<'a> {
    /// Title of the picture.
    pub title: &'a str,
    /// Label of the groups.
    pub groups: &'a str,
    /// Labels of the bars of a group. The axis fits the first; others may be cut off.
    pub series: [&'a str; 3],
    /// The groups, from top to bottom.
    pub bars: Vec<Bars<'a>>,
}

/// A group of bars, in images/s.
#[derive(Debug, Clone)]
pub struct Bars<'a> {
    /// Name of the group.
    pub name: &'a str,
    /// Lengths of the bars; `None` for a missing value.
    pub values: [Option<f64>; 3],
    /// Least and greatest of the values with the first value as median.
    pub range: (f64, f64),
}

impl BarChart<'_> {
    /// Returns the picture as a file.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let names = self.bars.iter().map(|bars| shortened(bars.name).chars().count());
        let left = 44.0 + LETTER * names.max().unwrap_or(0) as f64;
        let bottom = TOP + ROW * self.bars.len() as f64;
        let height = bottom + BOTTOM;
        let plot = Plot { left, end: self.end(), bottom };
        let size =
            format!(" xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\"");
        let mut svg = Svg::new((WIDTH, height), self.title, &size);
        svg.add(format_args!("<style>{STYLE}</style>"));
        svg.add(format_args!("<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>"));
        svg.text("title", (WIDTH / 2.0, 24.0), Anchor::Middle, self.title);
        self.legend(&mut svg);
        self.axes(&mut svg, &plot);
        for (row, bars) in self.bars.iter().enumerate() {
            bars.draw(&mut svg, &plot, TOP + ROW * row as f64 + 12.0);
        }
        svg.finish()
    }

    /// Returns the end of the axis. An unlimited resource would reduce every other bar to a dot, so
    /// such bars are cut off.
    fn end(&self) -> f64 {
        let finite = |value: &f64| value.is_finite();
        let largest =
            |values: &mut dyn Iterator<Item = f64>| values.filter(finite).fold(1.0_f64, f64::max);
        let all = largest(&mut self.bars.iter().flat_map(|bars| bars.values).flatten());
        let first = largest(&mut self.bars.iter().map(|bars| bars.range.1));
        all.min(first * 3.0)
    }

    fn legend(&self, svg: &mut Svg) {
        let width = |name: &str| 30.0 + LETTER * name.chars().count() as f64;
        let mut x = (WIDTH - self.series.map(width).iter().sum::<f64>()) / 2.0;
        for (class, name) in CLASSES.into_iter().zip(self.series) {
            svg.rect(class, (x, 39.0), (10.0, 10.0));
            svg.text("label", (x + 15.0, 48.0), Anchor::Start, name);
            x += width(name);
        }
    }

    fn axes(&self, svg: &mut Svg, plot: &Plot) {
        for value in ticks(plot.end) {
            let x = plot.x(value);
            svg.line("grid", (x, TOP), (x, plot.bottom));
            svg.text("tick", (x, plot.bottom + 16.0), Anchor::Middle, &images_per_s(value));
        }
        let is_cut = |bars: &Bars<'_>| bars.values.iter().flatten().any(|value| plot.cuts(*value));
        let cut = if self.bars.iter().any(is_cut) { " (→ the bar is longer)" } else { "" };
        let middle = (plot.left + WIDTH - RIGHT) / 2.0;
        let label = format!("images/s{cut}");
        svg.text("tick", (middle, plot.bottom + 36.0), Anchor::Middle, &label);
        svg.upright("tick", (16.0, (TOP + plot.bottom) / 2.0), self.groups);
    }
}

const CLASSES: [&str; 3] = ["first", "second", "third"];

impl Bars<'_> {
    fn draw(&self, svg: &mut Svg, plot: &Plot, top: f64) {
        let name = shortened(self.name);
        svg.text("label", (plot.left - 10.0, top + 26.0), Anchor::End, &name);
        for ((row, class), value) in CLASSES.into_iter().enumerate().zip(self.values) {
            let y = top + 16.0 * row as f64;
            let length = value.map_or(0.0, |value| plot.x(value) - plot.left);
            svg.rect(class, (plot.left, y), (length, BAR));
            let mut end = plot.left + length;
            let (least, most) = self.range;
            if row == 0 && least < most {
                let middle = y + BAR / 2.0;
                end = end.max(plot.x(most));
                svg.line("range", (plot.x(least), middle), (plot.x(most), middle));
            }
            let text = match value.map(|value| (images_per_s(value), plot.cuts(value))) {
                Some((text, true)) => format!("→ {text}"),
                Some((text, false)) => text,
                None => "-".into(),
            };
            svg.text("label", (end + 5.0, y + 11.0), Anchor::Start, &text);
        }
    }
}

/// Maps values to positions in the picture.
struct Plot {
    left: f64,
    end: f64,
    bottom: f64,
}

impl Plot {
    fn x(&self, value: f64) -> f64 {
        let share = if value.is_nan() { 0.0 } else { (value / self.end).clamp(0.0, 1.0) };
        self.left + share * (WIDTH - RIGHT - self.left)
    }

    fn cuts(&self, value: f64) -> bool {
        value > self.end
    }
}

/// Returns the end of a name that is too long, because the ends of paths differ.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    match letters.len().checked_sub(MAX_LETTERS) {
        None | Some(0) => name.to_owned(),
        Some(surplus) => {
            std::iter::once('…').chain(letters.into_iter().skip(surplus + 1)).collect()
        }
    }
}
