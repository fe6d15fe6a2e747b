//! Rates as horizontal bars, one below the other, in SVG.
use super::Measured;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 180.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 64.0;
const TOP: f64 = 34.0;

/// A picture that needs nothing else: for each dataset what loading and decoding would allow, and
/// what was achieved, with its range.
pub(crate) fn svg(measured: &[Measured]) -> String {
    let most = measured.iter().flat_map(rates).filter(|rate| rate.is_finite()).fold(1.0, f64::max);
    // What a resource allows that nobody waits for would make all others a line.
    let achieved = measured.iter().map(|one| one.images_per_s).fold(1.0, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / most.min(achieved * 3.0);
    let height = TOP + ROW * measured.len() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let title = "Images/s that the loader delivers, and what reading or decoding alone would allow";
    line(&mut svg, WIDTH / 2.0, 20.0, "middle", title);
    for (row, one) in measured.iter().enumerate() {
        let top = TOP + ROW * row as f64 + 12.0;
        line(&mut svg, LEFT - 10.0, top + 26.0, "end", &escape(&one.dataset));
        let bars = [
            (one.images_per_s, "#1a1d21", "achieved"),
            (one.loading_per_s.unwrap_or(f64::INFINITY), "#1f6fb2", "loading alone"),
            (one.decoding_per_s, "#c2560c", "decoding alone"),
        ];
        for (n, (rate, colour, what)) in bars.into_iter().enumerate() {
            let y = top + 16.0 * n as f64;
            let cut = rate * scale > WIDTH - LEFT - RIGHT;
            let len = (rate * scale).min(WIDTH - LEFT - RIGHT);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{len:.1}\" height=\"12\" fill=\"{colour}\"><title>{what}</title></rect>"
            );
            let value = if rate.is_finite() { format!("{rate:.0}") } else { "-".into() };
            let value = if cut && rate.is_finite() { format!("&#8594; to {value}") } else { value };
            line(&mut svg, LEFT + len + 5.0, y + 11.0, "start", &value);
        }
    }
    let y = height - 12.0;
    let mut x = LEFT;
    for (colour, what) in
        [("#1a1d21", "images/s"), ("#1f6fb2", "loading alone"), ("#c2560c", "decoding alone")]
    {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>",
            y - 9.0
        );
        line(&mut svg, x + 15.0, y, "start", what);
        x += 130.0;
    }
    svg.push_str("</svg>\n");
    svg
}

fn rates(one: &Measured) -> [f64; 3] {
    [one.images_per_s, one.loading_per_s.unwrap_or(0.0), one.decoding_per_s]
}

/// `text` is XML already.
fn line(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#1a1d21\">{text}</text>"
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
