//! The curves of a report as an SVG picture.

use crate::{
    Choice, Report,
    html::{escape, images_per_s},
};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// Loading, decoding and the smaller of both over the share of raw images, the chosen share and
/// what was measured. Colours are classes that the page defines; dashes tell the curves apart
/// without them.
pub(crate) fn svg(report: &Report) -> String {
    let scale = Scale { top: top_value(report) };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"images per second over \
         the share of raw images\">\n<defs><clipPath id=\"plot\"><rect x=\"{LEFT}\" y=\"{TOP}\" \
         width=\"{}\" height=\"{}\"/></clipPath></defs>\n",
        WIDTH - LEFT - RIGHT,
        HEIGHT - TOP - BOTTOM
    );
    axes(&mut svg, &scale, &report.raw.name);
    for (class, value) in [
        ("both", (|point| point.throughput.images_per_s()) as fn(&Choice) -> f64),
        ("loading", |point| point.throughput.loading),
        ("decoding", |point| point.throughput.decoding),
    ] {
        let points: Vec<String> = report
            .curve
            .iter()
            .map(|point| format!("{:.1},{:.1}", scale.x(point.share), scale.y(value(point))))
            .collect();
        let points = points.join(" ");
        line(
            &mut svg,
            &format!("<polyline class=\"{class}\" clip-path=\"url(#plot)\" points=\"{points}\"/>"),
        );
    }
    chosen(&mut svg, &scale, &report.solution.chosen, &report.raw.name);
    for verified in &report.verified {
        let (x, y) = (scale.x(verified.share), scale.y(verified.images_per_s()));
        if let Some((least, most)) = verified.range() {
            let (low, high) = (scale.y(least), scale.y(most));
            line(
                &mut svg,
                &format!(
                    "<line class=\"range\" clip-path=\"url(#plot)\" x1=\"{x:.1}\" x2=\"{x:.1}\" \
                     y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
                ),
            );
        }
        line(
            &mut svg,
            &format!(
                "<rect class=\"measured\" x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>",
                x - 4.0,
                y - 4.0
            ),
        );
    }
    legend(&mut svg, &scale, report);
    svg.push_str("</svg>\n");
    svg
}

/// Shares and images/s to places in the picture.
struct Scale {
    top: f64,
}

impl Scale {
    fn x(&self, share: f64) -> f64 {
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    /// Values far above the top become ones just above it, which the clipping cuts off: infinite
    /// ones have no place in a picture.
    fn y(&self, images_per_s: f64) -> f64 {
        let height = (images_per_s / self.top).min(2.0);
        HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM)
    }
}

/// The highest value to show. One curve may be many times above the other at one end; what matters
/// is where they meet, so that is what fills the picture.
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

fn axes(svg: &mut String, scale: &Scale, raw: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let step = tick(scale.top);
    let mut value = 0.0;
    while value <= scale.top {
        let y = scale.y(value);
        line(
            svg,
            &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                images_per_s(value)
            ),
        );
        value += step;
    }
    for tenth in 0..=10 {
        let x = scale.x(f64::from(tenth) / 10.0);
        line(
            svg,
            &format!(
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} %</text>",
                bottom + 18.0,
                tenth * 10
            ),
        );
    }
    line(
        svg,
        &format!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">share of images \
             stored as {}</text>\
             <text class=\"tick\" transform=\"translate(14 {:.1}) rotate(-90)\" \
             text-anchor=\"middle\">images/s</text>",
            (LEFT + right) / 2.0,
            bottom + 40.0,
            escape(raw),
            (TOP + bottom) / 2.0
        ),
    );
}

fn chosen(svg: &mut String, scale: &Scale, chosen: &Choice, raw: &str) {
    let (x, y) = (scale.x(chosen.share), scale.y(chosen.throughput.images_per_s()));
    // On the side with more room.
    let (anchor, text_x) = if chosen.share > 0.6 { ("end", x - 10.0) } else { ("start", x + 10.0) };
    let bottom = HEIGHT - BOTTOM;
    line(
        svg,
        &format!(
            "<line class=\"chosen\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{bottom}\"/>\
         <circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>\
         <text x=\"{text_x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">chosen: {:.1} % {}</text>",
            bottom - 12.0,
            chosen.share * 100.0,
            escape(raw)
        ),
    );
}

/// What is what. A curve that is above the picture everywhere is told of all the same: it is the
/// one that does not matter.
fn legend(svg: &mut String, scale: &Scale, report: &Report) {
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
        ("both", "the slower of them", 180.0),
    ] {
        line(
            svg,
            &format!(
                "<polyline class=\"{class}\" points=\"{x},20 {:.1},20\"/>\
             <text x=\"{:.1}\" y=\"24\">{text}</text>",
                x + 28.0,
                x + 34.0
            ),
        );
        x += width;
    }
    if !report.verified.is_empty() {
        line(
            svg,
            &format!(
                "<rect class=\"measured\" x=\"{x}\" y=\"16\" width=\"8\" height=\"8\"/>\
             <text x=\"{:.1}\" y=\"24\">measured: median, range</text>",
                x + 14.0
            ),
        );
    }
}

/// A round step that divides the axis into five to ten parts.
fn tick(top: f64) -> f64 {
    let power = 10.0_f64.powf((top / 5.0).log10().floor());
    let parts = |factor: &f64| top / (power * factor) >= 4.0;
    power * [5.0, 2.0, 1.0].into_iter().find(|factor| parts(factor)).unwrap_or(1.0)
}

fn line(svg: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{text}");
}
