//! The report as JSON and as a page.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use fdconvert_core::images_per_s;
use fdconvert_profile::{
    Bandwidth, Cost, Machine, MeasuredOn, Model, ReadPlan, Report, Verdict, Verified,
    research::paper_search, to_html,
};

fn report(cache_bytes: f64, names: [&str; 2]) -> Report {
    let png = Cost { bytes_per_image: 600e3, cpu_seconds_per_image: 10e-3 };
    let bmp = Cost { bytes_per_image: 1200e3, cpu_seconds_per_image: 0.5e-3 };
    let machine = Machine {
        read_bytes_per_s: 500e6,
        effective_cores: 4.0,
        cache_bytes,
        consumer_images_per_s: None,
    };
    let model = Model::new(png, bmp, machine, 100_000).unwrap();
    let mut report = Report::new("<photos> & \"more\"", "/data/<x>", names, &model);
    report.search = Some(paper_search(|share| Ok(model.throughput(share))).unwrap());
    report.verified = vec![
        Verified { share: 0.3, runs: vec![540.0, 550.0, 545.0] },
        Verified { share: 0.4, runs: vec![590.0] },
    ];
    report.measured_on = Some(MeasuredOn {
        system: "linux x86_64".into(),
        processor: None,
        n_cpus: 8,
        disk: Some("ext4 on /dev/<sda>".into()),
        command: "fdconvert profile <photos>".into(),
    });
    report.read = Some(Bandwidth {
        bytes_per_s: 500e6,
        bytes: 1 << 30,
        requests: 1024,
        seconds: 2.1,
        cached_because: Some("tmpfs <keeps> files in memory".into()),
        plan: ReadPlan::default(),
    });
    report
}

/// Checks that every tag is closed, in order; none is a script or a reference elsewhere.
fn check_page(page: &str) {
    let body = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open = Vec::new();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        assert!(name.chars().all(char::is_alphanumeric), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    for foreign in ["<script", "<link", "http", "@import", "url(\"", "src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for broken in ["NaN", "inf,", ",inf", "inf\""] {
        assert!(!page.contains(broken), "{broken}");
    }
}

#[test]
fn page_is_well_formed_and_names_are_escaped() {
    let page = to_html(&report(0.0, ["png'", "<b>bmp\u{1}"]));
    check_page(&page);
    for text in [
        "&lt;photos&gt; &amp; &quot;more&quot;",
        "/data/&lt;x&gt;",
        "all png&#39;",
        "all &lt;b&gt;bmp\u{fffd}",
        "memory, not of the disk: tmpfs &lt;keeps&gt;",
        "chosen: ",
        "545",
        // The place of the measurement, and consistent units and names.
        "540 to 550",
        "8 CPUs",
        "fdconvert profile &lt;photos&gt;",
        "1.14 MiB",
        "share of images stored as &lt;b&gt;bmp",
        "images/s</text>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("MB") && !page.contains("% raw"), "{page}");
}

#[test]
fn headline_and_dot_are_the_measurement_and_no_share_is_listed_twice() {
    let mut found = report(0.0, ["png", "bmp"]);
    found.solution.verdict = Verdict::Gain;
    let model = Model::new(found.encoded.cost, found.raw.cost, found.machine, 100_000).unwrap();
    found.solution.chosen = model.choice(1.0);
    let dot = |page: &str| {
        let (_, circle) = page.split_once("class=\"point\"").unwrap();
        let (_, y) = circle.split_once("cy=\"").unwrap();
        y.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    found.verified.clear();
    let page = to_html(&found);
    let predicted = images_per_s(found.solution.chosen.throughput.images_per_s());
    assert!(page.contains(&format!("Predicted: {predicted} images/s")), "{page}");
    let at_predicted = dot(&page);

    let slow = found.solution.chosen.throughput.images_per_s() / 2.0;
    found.verified = [(0.0, slow / 2.0), (1.0, slow)]
        .map(|(share, it)| Verified { share, runs: vec![it] })
        .into();
    let page = to_html(&found);
    let rate = images_per_s(slow);
    let headline = format!("Measured with the loader: {rate} images/s, 2.00 times as fast");
    assert!(page.contains(&headline), "{page}");
    // Half as high above the axis, which ends 52 pixels above the bottom of the picture.
    let axis = 380.0 - 52.0;
    let shares = (axis - dot(&page)) / (axis - at_predicted);
    assert!((shares - 0.5).abs() < 0.02, "{shares}");

    let (_, table) = page.split_once("<h2>Predicted</h2>").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    assert_eq!(table.matches("<td>100.0 %</td>").count(), 1, "{table}");
    assert!(table.contains("<td>all bmp, "), "{table}");
    assert!(!page.contains("Every tenth"));
}

#[test]
fn with_a_rate_of_training_the_page_shows_what_is_busy() {
    let free = report(0.0, ["png", "bmp"]);
    assert!(!to_html(&free).contains("What is busy"));
    let machine = Machine { consumer_images_per_s: Some(450.0), ..free.machine };
    let model = Model::new(free.encoded.cost, free.raw.cost, machine, 100_000).unwrap();
    let mut held = Report::new("x", "y", ["png", "bmp"], &model);
    held.verified = [(0.0, 400.0), (0.1, 449.0), (0.3, 550.0)]
        .map(|(share, rate)| Verified { share, runs: vec![rate] })
        .into();
    held.decide(&model);
    // Throughput above that of training is worthless.
    assert_eq!((held.solution.chosen.share, held.achieved(0.3)), (0.1, Some(450.0)));
    let page = to_html(&held);
    check_page(&page);
    assert!(page.contains("What is busy") && page.contains("450 images/s"), "{page}");

    // Reports of older versions lack the rate.
    let mut old = serde_json::to_value(&free).unwrap();
    old["machine"].as_object_mut().unwrap().remove("consumer_images_per_s").unwrap();
    for choice in old["curve"].as_array_mut().unwrap() {
        choice["throughput"].as_object_mut().unwrap().remove("consumer").unwrap();
    }
    assert_eq!(serde_json::from_value::<Report>(old).unwrap(), free);
}

#[test]
fn a_choice_that_is_slower_than_predicted_is_explained() {
    let mut report = report(0.0, ["png", "bmp"]);
    report.solution.verdict = Verdict::Gain;
    report.verified =
        [0.0, 0.3].map(|share| Verified { share, runs: vec![share * 5e3 + 9e2] }).into();
    let model = Model::new(report.encoded.cost, report.raw.cost, report.machine, 100_000).unwrap();
    report.solution.chosen = model.choice(0.3);
    let page = to_html(&report);
    assert!(
        page.contains("measurements decide") && page.contains("times what the model"),
        "{page}"
    );
}

#[test]
fn extremes_have_a_page_and_survive_json() {
    let mut free = report(0.0, ["png", "bmp"]);
    free.verified.clear();
    let nothing = Cost { bytes_per_image: 0.0, cpu_seconds_per_image: 0.0 };
    let model = Model::new(free.encoded.cost, nothing, free.machine, 1).unwrap();
    for report in [
        report(0.0, ["png", "bmp"]),
        report(60e9, ["png", "bmp"]),
        report(1e12, ["png", "bmp"]),
        Report::new("x", "y", ["a", "b"], &model),
        Report::new("x", "y", ["a", "b"], &Model::new(nothing, nothing, free.machine, 1).unwrap()),
        free,
    ] {
        check_page(&to_html(&report));
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}
