//! Findings as a page.
use crate::{Claim, Figure, Findings, Plot};
use fdconvert_profile::{LineChart, MarkedBar, MarkedBars, Page, Series};

/// Returns the findings as a page without external parts: no scripts, no fonts, no network.
#[must_use]
pub fn to_html(findings: &Findings) -> String {
    let mut page = Page::new(&format!("Paper {}, measured here", findings.paper.number()));
    page.quiet(findings.title);
    page.heading("What the paper claims, and what came out here");
    let row =
        |claim: &Claim| vec![claim.paper.clone(), claim.here.clone(), claim.verdict.text().into()];
    let rows: Vec<Vec<String>> = findings.claims.iter().map(row).collect();
    page.texts(&["the paper", "here", ""], &rows);
    page.list(&findings.results);
    for figure in &findings.figures {
        page.heading(&figure.title);
        page.picture(&picture(figure));
        page.quiet(&figure.caption);
    }
    for table in &findings.tables {
        page.heading(&table.title);
        let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
        page.table(&head, &table.rows);
    }
    page.heading("What differs from the paper");
    page.list(&findings.differences);
    page.heading("Who took part");
    let took_part = findings.others.iter().map(|(name, version)| format!("{name} {version}"));
    page.list(std::iter::once(findings.tool.clone()).chain(took_part));
    if !findings.missing.is_empty() {
        page.paragraph("Not here, and so not measured:");
        page.list(
            findings.missing.iter().map(|missing| format!("{}: {}", missing.name, missing.why)),
        );
    }
    page.heading("Where and how");
    let machine = &findings.measured_on;
    let unknown = || "unknown".to_owned();
    page.paragraph(&format!(
        "{}, {} processors of the kind {}, data on {}; {:.0} s in all{}.",
        machine.system,
        machine.n_cpus,
        machine.processor.clone().unwrap_or_else(unknown),
        machine.disk.clone().unwrap_or_else(unknown),
        findings.seconds,
        if findings.quick { ", the quick form" } else { "" }
    ));
    page.code(&machine.command);
    page.finish()
}

fn picture(figure: &Figure) -> String {
    match &figure.plot {
        Plot::Bars { unit, mark, bars } => {
            let bars = bars.iter().map(|bar| {
                let value = bar.value.unwrap_or(f64::NAN);
                MarkedBar {
                    name: bar.name.clone(),
                    value,
                    range: bar.range.unwrap_or((value, value)),
                    is_ours: bar.is_ours,
                    mark: bar.paper,
                }
            });
            let (title, unit, mark) = (figure.title.clone(), unit.clone(), mark.clone());
            MarkedBars { title, unit, mark, bars: bars.collect() }.to_svg()
        }
        Plot::Lines { x, y, doubles, lines, marks } => {
            let series = lines
                .iter()
                .map(|line| Series { name: line.name.clone(), points: line.points.clone() });
            LineChart {
                title: figure.title.clone(),
                x_label: x.clone(),
                y_label: y.clone(),
                doubles: *doubles,
                series: series.collect(),
                marks: marks.iter().map(|mark| (mark.x, mark.y, mark.name.clone())).collect(),
            }
            .to_svg()
        }
    }
}
