//! The table of `fdconvert bench`.
use super::Measured;
use crate::output::{self, images_per_s};

pub(crate) fn table(measured: &[Measured]) -> String {
    let width = measured.iter().map(|one| one.label.chars().count()).max().unwrap_or(0).max(7);
    let mut text = format!(
        "{:width$}  {:>8}  {:>13}  {:>8}  {:>9}  {:>10}  {:>10}  {:>5}  {:>5}  {}\n",
        "dataset",
        "images/s",
        "min..max",
        "CPU ms",
        "loading/s",
        "decoding/s",
        "read/image",
        "stall",
        "hits",
        "bound by"
    );
    for one in measured {
        let (least, most) = one.range();
        let forms: Vec<_> = one
            .forms
            .iter()
            .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
            .collect();
        text.push_str(&format!(
            "{:width$}  {:>8}  {:>13}  {:>8.2}  {:>9}  {:>10}  {:>10}  {:>3.0} %  {:>3.0} %  {} ({})\n",
            one.label,
            images_per_s(one.images_per_s),
            format!("{}..{}", images_per_s(least), images_per_s(most)),
            one.cpu_ms_per_image,
            one.loading_per_s.map_or("-".into(), images_per_s),
            images_per_s(one.decoding_per_s),
            output::size(one.bytes_per_image as u64),
            one.stalled * 100.0,
            one.hits * 100.0,
            one.verdict,
            forms.join(", "),
        ));
    }
    let has_jpegs = measured.iter().flat_map(|one| &one.forms).any(|(form, _)| form == "jpeg");
    if let Some(entropy) = fdconvert_codec::jpeg_entropy().filter(|_| has_jpegs) {
        let what = "JPEGs with entry points or many restart markers are decoded by";
        text.push_str(&format!("\n{what} {entropy}: faster here\n"));
    }
    if measured.iter().any(|one| one.busy.consumer.is_some()) {
        text.push_str(&busy(measured, width));
    }
    if measured.iter().any(|one| !one.epochs.is_empty()) {
        text.push_str(&epochs(measured, width));
    }
    text
}

/// Lists the load of each part during simulated training.
fn busy(measured: &[Measured], width: usize) -> String {
    let percent =
        |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0));
    let mut text =
        format!("\n{:width$}  {:>10}  {:>10}  {:>10}\n", "busy", "disk", "processors", "training");
    for one in measured {
        text.push_str(&format!(
            "{:width$}  {:>10}  {:>10}  {:>10}\n",
            one.label,
            percent(one.busy.disk),
            percent(Some(one.busy.processors)),
            percent(one.busy.consumer),
        ));
    }
    text
}

/// Returns a line for each epoch.
fn epochs(measured: &[Measured], width: usize) -> String {
    let mut text = format!(
        "\n{:width$}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}\n",
        "dataset", "epoch", "images", "seconds", "CPU s", "images/s"
    );
    for one in measured {
        for (number, epoch) in (1..).zip(&one.epochs) {
            text.push_str(&format!(
                "{:width$}  {number:>8}  {:>8}  {:>8.2}  {:>8}  {:>8}\n",
                one.label,
                epoch.images,
                epoch.seconds,
                epoch.cpu_seconds.map_or("-".into(), |seconds| format!("{seconds:.2}")),
                images_per_s(epoch.images_per_s()),
            ));
        }
    }
    text
}
