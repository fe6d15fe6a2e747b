//! Values over a number, drawn as lines, with marks for published values.
use super::{
    marked::{diamond, short},
    svg::{Anchor, Place, Svg, ticks},
};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;
/// Approximate width of a letter.
const LETTER: f64 = 7.0;
/// Number of distinguishable line styles.
const STYLES: usize = 6;

/// Lines on one horizontal axis, for a [`Page`](crate::Page).
#[derive(Debug, Clone)]
pub struct LineChart {
    /// Title of the picture, for screen readers.
    pub title: String,
    /// Label below the picture.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// True for a logarithmic horizontal axis with base 2.
    pub doubles: bool,
    /// The lines.
    pub series: Vec<Series>,
    /// Published points, each with a name.
    pub marks: Vec<(f64, f64, String)>,
}

/// A line of a [`LineChart`].
#[derive(Debug, Clone)]
pub struct Series {
    /// Name of the line.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

impl LineChart {
    /// Returns the picture, for a page that defines the colours.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let mut svg = Svg::new((WIDTH, HEIGHT), &self.title, "");
        let scale = self.scale();
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for value in ticks(scale.top) {
            let y = scale.y(value);
            svg.line("grid", (LEFT, y), (right, y));
            svg.text("tick", (LEFT - 8.0, y + 4.0), Anchor::End, &short(value));
        }
        for x in scale.x_ticks() {
            let at = scale.x(x);
            svg.line("grid", (at, bottom), (at, bottom + 4.0));
            svg.text("tick", (at, bottom + 18.0), Anchor::Middle, &short(x));
        }
        svg.text("tick", ((LEFT + right) / 2.0, bottom + 42.0), Anchor::Middle, &self.x_label);
        svg.upright("tick", (14.0, (TOP + bottom) / 2.0), &self.y_label);
        let mut legend_x = LEFT;
        for (number, series) in self.series.iter().enumerate() {
            let class = format!("series{}", number % STYLES);
            let points = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let places: Vec<Place> = points.map(|&(x, y)| (scale.x(x), scale.y(y))).collect();
            svg.polyline(&class, places.into_iter());
            svg.polyline(&class, [(legend_x, 20.0), (legend_x + 24.0, 20.0)].into_iter());
            svg.text("label", (legend_x + 30.0, 24.0), Anchor::Start, &series.name);
            legend_x += 52.0 + LETTER * series.name.chars().count() as f64;
        }
        for (x, y, word) in &self.marks {
            let (x, y) = (scale.x(*x), scale.y(*y));
            diamond(&mut svg, (x, y));
            let (anchor, text_x) =
                if x > WIDTH / 2.0 { (Anchor::End, x - 12.0) } else { (Anchor::Start, x + 12.0) };
            svg.text("label", (text_x, y - 8.0), anchor, word);
        }
        svg.finish()
    }

    fn scale(&self) -> Scale {
        let points = self.series.iter().flat_map(|series| series.points.iter().copied());
        let places = points.chain(self.marks.iter().map(|(x, y, _)| (*x, *y)));
        let finite = places.filter(|(x, y)| x.is_finite() && y.is_finite());
        let doubles = self.doubles;
        let (first, last, top, whole) = (f64::INFINITY, 0.0, 0.0, true);
        let mut scale = Scale { first, last, top, doubles, whole };
        for (x, y) in finite {
            scale.first = scale.first.min(x);
            scale.last = scale.last.max(x);
            scale.whole &= x.fract() == 0.0;
            scale.top = scale.top.max(y);
        }
        if !scale.first.is_finite() {
            scale.first = 0.0;
        }
        if scale.top <= 0.0 {
            scale.top = 1.0;
        }
        // Zero has no logarithm.
        scale.doubles &= scale.first > 0.0;
        scale.top *= 1.06;
        scale
    }
}

struct Scale {
    first: f64,
    last: f64,
    top: f64,
    doubles: bool,
    /// True to show only whole numbers, such as epochs.
    whole: bool,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        let to = |value: f64| if self.doubles { value.log2() } else { value };
        let length = (to(self.last) - to(self.first)).max(f64::MIN_POSITIVE);
        let share = ((to(value) - to(self.first)) / length).clamp(0.0, 1.0);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value / self.top).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn x_ticks(&self) -> Vec<f64> {
        if self.doubles {
            let doubled = std::iter::successors(Some(self.first), |value| Some(value * 2.0));
            return doubled.take(32).take_while(|value| *value <= self.last * 1.001).collect();
        }
        let is_shown = |value: &f64| *value >= self.first && (!self.whole || value.fract() == 0.0);
        ticks(self.last).filter(is_shown).collect()
    }
}
