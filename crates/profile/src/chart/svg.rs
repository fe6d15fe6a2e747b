//! The few elements of SVG that a chart is made of.
use crate::xml::escape;
use std::fmt::{Arguments, Write};

/// The part of a text at its position.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A position in a picture: pixels from the left, pixels from the top.
pub(super) type Place = (f64, f64);

/// A picture under construction. Colours and dashes are classes, defined by the page around the
/// picture or by the picture itself.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    pub(super) fn new((width, height): Place, label: &str, attributes: &str) -> Self {
        let mut svg = Self { text: String::new() };
        svg.add(format_args!(
            "<svg{attributes} viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
            escape(label)
        ));
        svg
    }

    pub(super) fn add(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{element}");
    }

    pub(super) fn text(&mut self, class: &str, (x, y): Place, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        ));
    }

    /// Adds the label of a vertical axis, from bottom to top.
    pub(super) fn upright(&mut self, class: &str, (x, y): Place, text: &str) {
        self.add(format_args!(
            "<text class=\"{class}\" transform=\"translate({x:.1} {y:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escape(text)
        ));
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): Place, (x2, y2): Place) {
        self.add(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): Place, (width, height): Place) {
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>"
        ));
    }

    pub(super) fn polyline(&mut self, class: &str, points: impl Iterator<Item = Place>) {
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.add(format_args!("<polyline class=\"{class}\" points=\"{points}\"/>"));
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Yields round values from 0 to the end of an axis, which they divide into four to ten parts.
pub(super) fn ticks(end: f64) -> impl Iterator<Item = f64> {
    let power = 10.0_f64.powf((end / 5.0).log10().floor());
    let parts = |factor: &f64| end / (power * factor) >= 4.0;
    let step = power * [5.0, 2.0, 1.0].into_iter().find(|factor| parts(factor)).unwrap_or(1.0);
    // No axis has this many parts, however its end is rounded.
    (0..100).map(move |n| f64::from(n) * step).take_while(move |value| *value <= end)
}
