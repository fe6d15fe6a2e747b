//! The curves of a report.
use super::svg::{Anchor, Svg, ticks};
use crate::{Choice, Report};
use fdconvert_core::images_per_s;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// Draws loading, decoding and the smaller of both over the share of raw images, the chosen share
/// and the measurements. Colours are classes that the page defines; dashes distinguish the curves
/// without colours.
pub(crate) fn curves(report: &Report) -> String {
    let scale = Scale { top: top_value(report) };
    let mut svg = Svg::new((WIDTH, HEIGHT), "images per second over the share of raw images", "");
    svg.add(format_args!(
        "<defs><clipPath id=\"plot\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" \
         height=\"{}\"/></clipPath></defs>",
        WIDTH - LEFT - RIGHT,
        HEIGHT - TOP - BOTTOM
    ));
    axes(&mut svg, &scale, &report.raw.name);
    svg.add(format_args!("<g clip-path=\"url(#plot)\">"));
    for (class, value) in [
        ("both", (|point| point.throughput.images_per_s()) as fn(&Choice) -> f64),
        ("loading", |point| point.throughput.loading),
        ("decoding", |point| point.throughput.decoding),
    ] {
        let place = |point: &Choice| (scale.x(point.share), scale.y(value(point)));
        svg.polyline(class, report.curve.iter().map(place));
    }
    svg.add(format_args!("</g>"));
    chosen(&mut svg, &scale, report);
    for verified in &report.verified {
        let (x, y) = (scale.x(verified.share), scale.y(verified.images_per_s()));
        if let Some((least, most)) = verified.range() {
            svg.add(format_args!("<g clip-path=\"url(#plot)\">"));
            svg.line("range", (x, scale.y(least)), (x, scale.y(most)));
            svg.add(format_args!("</g>"));
        }
        svg.rect("measured", (x - 4.0, y - 4.0), (8.0, 8.0));
    }
    legend(&mut svg, &scale, report);
    svg.finish()
}

/// Maps shares and images/s to positions in the picture.
struct Scale {
    top: f64,
}

impl Scale {
    fn x(&self, share: f64) -> f64 {
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    /// Clamps values far above the top, also infinite ones, to just above it, where they are
    /// clipped.
    fn y(&self, images_per_s: f64) -> f64 {
        let height = (images_per_s / self.top).min(2.0);
        HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM)
    }
}

/// Returns the highest value to show. One curve may be many times above the other at one end; the
/// picture is scaled to the range where they meet.
fn top_value(report: &Report) -> f64 {
    let best = report.solution.optimum.throughput.images_per_s();
    let finite = |value: &f64| value.is_finite();
    let values = report.curve.iter().flat_map(|p| [p.throughput.loading, p.throughput.decoding]);
    let highest = values.filter(finite).fold(0.0, f64::max);
    let measured = report.verified.iter().filter_map(|verified| Some(verified.range()?.1));
    let measured = measured.filter(finite).fold(0.0, f64::max);
    let top = if best.is_finite() { highest.min(2.2 * best) } else { highest };
    let top = top.max(measured) * 1.08;
    if top > 0.0 && top.is_finite() { top } else { 1.0 }
}

fn axes(svg: &mut Svg, scale: &Scale, raw: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for value in ticks(scale.top) {
        let y = scale.y(value);
        svg.line("grid", (LEFT, y), (right, y));
        svg.text("tick", (LEFT - 8.0, y + 4.0), Anchor::End, &images_per_s(value));
    }
    for tenth in 0..=10 {
        let x = scale.x(f64::from(tenth) / 10.0);
        svg.text("tick", (x, bottom + 18.0), Anchor::Middle, &format!("{} %", tenth * 10));
    }
    let label = format!("share of images stored as {raw}");
    svg.text("tick", ((LEFT + right) / 2.0, bottom + 40.0), Anchor::Middle, &label);
    svg.upright("tick", (14.0, (TOP + bottom) / 2.0), "images/s");
}

/// Draws the choice where it was measured; without measurements, where the model sees it.
fn chosen(svg: &mut Svg, scale: &Scale, report: &Report) {
    let (chosen, raw) = (&report.solution.chosen, &report.raw.name);
    let predicted = chosen.throughput.images_per_s();
    let rate = report.achieved(chosen.share).unwrap_or(predicted);
    let (x, y) = (scale.x(chosen.share), scale.y(rate));
    let bottom = HEIGHT - BOTTOM;
    svg.line("chosen", (x, y), (x, bottom));
    svg.add(format_args!("<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>"));
    // On the side with more room.
    let (anchor, text_x) =
        if chosen.share > 0.6 { (Anchor::End, x - 10.0) } else { (Anchor::Start, x + 10.0) };
    let text = format!("chosen: {:.1} % {raw}", chosen.share * 100.0);
    svg.text("label", (text_x, bottom - 12.0), anchor, &text);
}

/// Draws the legend. It includes a curve that is above the picture everywhere, because that one
/// does not limit anything.
fn legend(svg: &mut Svg, scale: &Scale, report: &Report) {
    let is_above =
        |value: fn(&Choice) -> f64| report.curve.iter().all(|point| value(point) > scale.top);
    let named = |text: &'static str, is_above: bool| match (text, is_above) {
        ("loading", true) => ("loading (above)", 155.0),
        ("decoding", true) => ("decoding (above)", 165.0),
        (text, _) => (text, 100.0),
    };
    let (loading, loading_width) = named("loading", is_above(|point| point.throughput.loading));
    let (decoding, decoding_width) = named("decoding", is_above(|point| point.throughput.decoding));
    let mut x = LEFT;
    for (class, text, width) in [
        ("loading", loading, loading_width),
        ("decoding", decoding, decoding_width),
        ("both", "predicted: the slower", 190.0),
    ] {
        svg.polyline(class, [(x, 20.0), (x + 28.0, 20.0)].into_iter());
        svg.text("label", (x + 34.0, 24.0), Anchor::Start, text);
        x += width;
    }
    if !report.verified.is_empty() {
        svg.rect("measured", (x, 16.0), (8.0, 8.0));
        svg.text("label", (x + 14.0, 24.0), Anchor::Start, "measured: median, range");
    }
}
