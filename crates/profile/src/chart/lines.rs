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
/// Height of a text above and below its baseline.
const ASCENT: f64 = 11.0;
const DESCENT: f64 = 4.0;
/// Half the width of a mark, and the room between it and its name.
const MARK: f64 = 6.0;
const GAP: f64 = 12.0;
/// Number of distances from a mark at which its name is tried.
const DISTANCES: u8 = 8;
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
        let mut drawn: Vec<Vec<Place>> = Vec::new();
        for (number, series) in self.series.iter().enumerate() {
            let class = format!("series{}", number % STYLES);
            let points = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let places: Vec<Place> = points.map(|&(x, y)| (scale.x(x), scale.y(y))).collect();
            svg.polyline(&class, places.iter().copied());
            drawn.push(places);
            svg.polyline(&class, [(legend_x, 20.0), (legend_x + 24.0, 20.0)].into_iter());
            svg.text("label", (legend_x + 30.0, 24.0), Anchor::Start, &series.name);
            legend_x += 52.0 + LETTER * series.name.chars().count() as f64;
        }
        let marks = self.marks.iter().map(|(x, y, word)| ((scale.x(*x), scale.y(*y)), word));
        for ((x, y), _) in marks.clone() {
            diamond(&mut svg, (x, y));
            drawn.push(vec![(x - MARK, y), (x + MARK, y)]);
            drawn.push(vec![(x, y - MARK), (x, y + MARK)]);
        }
        for (mark, word) in marks {
            let length = LETTER * word.chars().count() as f64;
            let (at, anchor) = free_place(mark, length, &drawn);
            svg.text("label", at, anchor, word);
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

/// Returns a place near a mark where no line crosses a text of this length; if there is none, the
/// place beside the mark.
fn free_place((x, y): Place, length: f64, lines: &[Vec<Place>]) -> (Place, Anchor) {
    let (left, right) = ((x - GAP, Anchor::End), (x + GAP, Anchor::Start));
    let sides = if x > WIDTH / 2.0 { [left, right] } else { [right, left] };
    let sides = [sides[0], sides[1], (x, Anchor::Middle)];
    let rows = (0..DISTANCES).flat_map(|n| {
        let distance = 8.0 + f64::from(n) * GAP;
        [y - distance, y + distance + ASCENT]
    });
    let mut places = rows.flat_map(|y| sides.map(|(x, anchor)| ((x, y), anchor)));
    let free = places.find(|&(at, anchor)| {
        let area = Area::of_text(at, anchor, length);
        area.is_inside() && !lines.iter().any(|line| area.is_crossed_by(line))
    });
    free.unwrap_or(((sides[0].0, y - 8.0), sides[0].1))
}

/// The area of a text.
struct Area {
    x: (f64, f64),
    y: (f64, f64),
}

impl Area {
    fn of_text((x, y): Place, anchor: Anchor, length: f64) -> Self {
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - length / 2.0,
            Anchor::End => x - length,
        };
        Self { x: (left, left + length), y: (y - ASCENT, y + DESCENT) }
    }

    /// Between the axes.
    fn is_inside(&self) -> bool {
        self.x.0 >= LEFT
            && self.x.1 <= WIDTH - RIGHT
            && self.y.0 >= TOP - ASCENT
            && self.y.1 <= HEIGHT - BOTTOM
    }

    fn is_crossed_by(&self, line: &[Place]) -> bool {
        line.windows(2).any(|pair| matches!(pair, [from, to] if self.has_part_of(*from, *to)))
    }

    /// Cuts the section to the area, as a part from 0 to 1 of its length (Liang and Barsky). One
    /// along an axis divides by 0, and is then inside for no part or for all.
    fn has_part_of(&self, from: Place, to: Place) -> bool {
        let (mut begin, mut end) = (0.0_f64, 1.0_f64);
        for (start, step, (low, high)) in
            [(from.0, to.0 - from.0, self.x), (from.1, to.1 - from.1, self.y)]
        {
            let (first, last) = ((low - start) / step, (high - start) / step);
            begin = begin.max(first.min(last));
            end = end.min(first.max(last));
        }
        begin <= end
    }
}
