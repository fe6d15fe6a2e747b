//! Rates as bars, and values as a histogram.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_profile::{BarChart, Bars, Histogram, LineChart, MarkedBar, MarkedBars, Series};

fn chart(bars: Vec<Bars<'_>>) -> String {
    let series = ["achieved", "loading", "decoding"];
    BarChart { title: "Rates of <x>", groups: "dataset", series, bars }.to_svg()
}

/// Returns the numbers after `name=` in the elements that contain all of `parts`.
fn numbers(svg: &str, parts: &[&str], name: &str) -> Vec<f64> {
    let lines = svg.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    let value = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    lines.map(value).collect()
}

#[test]
fn a_picture_has_title_axes_unit_and_legend() {
    let range = (90.0, 130.0);
    let svg = chart(vec![Bars { name: "a&b", values: [Some(100.0), None, Some(400.0)], range }]);
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    for text in
        ["Rates of &lt;x&gt;</text>", ">dataset<", ">images/s (→", ">achieved<", ">loading<", ">0<"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert!(svg.contains(">a&amp;b<") && svg.contains(">→ 400<") && svg.contains(">-<"), "{svg}");
    let [least] = numbers(&svg, &["class=\"range\""], "x1")[..] else { panic!("{svg}") };
    let [most] = numbers(&svg, &["class=\"range\""], "x2")[..] else { panic!("{svg}") };
    let [start] = numbers(&svg, &["class=\"first\"", "height=\"12.0\""], "x")[..] else { panic!() };
    let [length] = numbers(&svg, &["class=\"first\"", "height=\"12.0\""], "width")[..] else {
        panic!()
    };
    assert!(least < start + length && start + length < most, "{svg}");
}

#[test]
fn bars_are_as_long_as_their_values() {
    let bars = |value| [Some(value), Some(value / 2.0), Some(value / 4.0)];
    let svg = chart(vec![
        Bars { name: "x", values: bars(1000.0), range: (1000.0, 1000.0) },
        Bars { name: "y", values: bars(500.0), range: (500.0, 500.0) },
    ]);
    let lengths = |class| numbers(&svg, &[class, "height=\"12.0\""], "width");
    let [all, half] = lengths("class=\"first\"")[..] else { panic!() };
    assert!((all - 2.0 * half).abs() < 0.2 && all > 400.0, "{svg}");
    assert_eq!(lengths("class=\"second\"")[0], half);
    assert!(!svg.contains('→') && !svg.contains("class=\"range\""), "{svg}");
}

#[test]
fn anything_makes_a_picture() {
    let long = "x".repeat(200);
    for values in [[Some(0.0); 3], [Some(f64::INFINITY); 3], [Some(f64::NAN); 3], [None; 3]] {
        let svg = chart(vec![Bars { name: &long, values, range: (f64::INFINITY, 0.0) }]);
        assert!(svg.ends_with("</svg>\n") && !svg.contains("=\"NaN") && !svg.contains("=\"inf"));
        let x = numbers(&svg, &["<text class=\"label\"", "xxx"], "x");
        assert!(x[0] < 400.0 && !svg.contains(&long), "{svg}");
    }
    assert!(chart(vec![]).contains(">images/s<"));
}

#[test]
fn columns_count_the_values_of_their_ranges() {
    let sorted: Vec<f64> = (0..=320).map(f64::from).collect();
    let histogram = Histogram::of_sorted("Sizes of <x>", "pixels", &sorted).unwrap();
    assert_eq!((histogram.counts.len(), histogram.range), (32, (0.0, 320.0)));
    // The last column includes its upper end.
    assert_eq!(histogram.counts[..31], [10; 31]);
    assert_eq!(histogram.counts[31], 11);
    let svg = histogram.to_svg();
    assert!(svg.contains("Sizes of &lt;x&gt;") && svg.contains(">pixels<"), "{svg}");
    let heights = numbers(&svg, &["class=\"ours\""], "height");
    assert!(heights.len() == 32 && heights[31] > heights[0], "{svg}");

    let same = Histogram::of_sorted("x", "y", &[3.0; 5]).unwrap();
    assert_eq!(same.counts, [5]);
    assert!(!same.to_svg().contains("NaN"));
    assert_eq!(Histogram::of_sorted("x", "y", &[]), None);
    assert_eq!(Histogram::of_sorted("x", "y", &[f64::NAN]), None);
}

#[test]
fn a_comparison_is_a_file_of_its_own_or_a_part_of_a_page() {
    let bar = |name: &str, value, is_ours| MarkedBar {
        name: name.into(),
        value,
        range: (value, value * 1.5),
        is_ours,
        mark: None,
    };
    let bars = vec![bar("ours", 1.0, true), bar("a&b", 2.0, false)];
    let (title, unit) = ("Rates of <x>".into(), "CPU-ms per image".into());
    let chart = MarkedBars { title, unit, mark: String::new(), bars };
    let file = chart.to_svg_file();
    assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\""));
    for text in ["<style>", "aria-label=\"Rates of &lt;x&gt;\"", ">a&amp;b<", ">CPU-ms per image<"]
    {
        assert!(file.contains(text), "{text}: {file}");
    }
    let widths = |svg: &str, class: &str| numbers(svg, &["<rect", class, "height=\"14"], "width");
    let (ours, others) = (widths(&file, "ours"), widths(&file, "others"));
    assert!((others[0] / ours[0] - 2.0).abs() < 0.01, "{ours:?} {others:?}");
    // In a page, the page defines the colours.
    let part = chart.to_svg();
    assert!(!part.contains("<style>") && !part.contains("xmlns"));
    assert_eq!(widths(&part, "ours"), ours);
}

#[test]
fn names_of_marks_are_beside_the_lines() {
    const NAME: &str = "the paper: 20 % BMP";
    let line = |value: &dyn Fn(f64) -> f64| Series {
        name: "x".into(),
        points: (0..=100).map(|x| (f64::from(x), value(f64::from(x)))).collect(),
    };
    let rising = |x: f64| x;
    let falling = |x: f64| 100.0 - x;
    let peak = |x: f64| if x < 20.0 { 2.0 * x } else { 50.0 - x / 2.0 };
    let flat = |_: f64| 50.0;
    let curves: [&dyn Fn(f64) -> f64; 4] = [&rising, &falling, &peak, &flat];
    for curve in curves {
        for mark in [0.0, 20.0, 50.0, 80.0, 100.0] {
            let chart = LineChart {
                title: String::new(),
                x_label: String::new(),
                y_label: String::new(),
                doubles: false,
                series: vec![line(curve)],
                marks: vec![(mark, curve(mark), NAME.into())],
            };
            let svg = chart.to_svg();
            let [x, y] = ["x", "y"].map(|name| numbers(&svg, &[NAME], name)[0]);
            let length = 7.0 * NAME.len() as f64;
            let text = svg.lines().find(|line| line.contains(NAME)).unwrap();
            let is = |anchor: &str| text.contains(&format!("text-anchor=\"{anchor}\""));
            let before = if is("end") {
                1.0
            } else if is("middle") {
                0.5
            } else {
                0.0
            };
            let left = x - before * length;
            let points = svg.lines().find(|line| line.matches(',').count() == 101).unwrap();
            let points = points.split_once("points=\"").unwrap().1.split_once('"').unwrap().0;
            for point in points.split(' ') {
                let (at, height) = point.split_once(',').unwrap();
                let (at, height): (f64, f64) = (at.parse().unwrap(), height.parse().unwrap());
                let is_inside =
                    (left..left + length).contains(&at) && (y - 11.0..y + 4.0).contains(&height);
                assert!(!is_inside, "{mark}: {svg}");
            }
        }
    }
}
