//! The record as Markdown.
use super::{
    check::Checked,
    fractals::Drawn,
    images::Set,
    measure::{Case, Measured, output_name},
    nvjpeg::Rivals,
    rival,
    rows::{KernelTimes, Rows},
};
use fdconvert_core::size;
use fdconvert_gpu::{Device, GpuError, Kernel, LibraryUse, Timings};
use fdconvert_jpeg::GRIDS_BITS;
use std::error::Error;

/// A page that grows part by part.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) text: String,
    /// True if nothing has failed, and no pixel is wrong.
    pub(crate) is_fine: bool,
}

impl Default for Report {
    fn default() -> Self {
        Self { text: "# JPEGs decoded on a GPU\n".into(), is_fine: true }
    }
}

impl Report {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        self.line(format!("\n## {heading}\n"));
    }

    fn table(&mut self, heads: &str) {
        let rules = "---|".repeat(heads.split('|').count());
        self.line(format!("| {heads} |\n|{rules}"));
    }

    pub(crate) fn not_run(&mut self, error: &GpuError) {
        self.line(format!("\nnot run on a GPU: {error}"));
    }

    pub(crate) fn failed(&mut self, error: &dyn Error) {
        self.is_fine = false;
        self.line(format!("\nStopped here: {error}"));
    }

    pub(crate) fn machine(&mut self, devices: &[Device], version: i32, open_s: f64) {
        self.heading("Machine");
        self.line(format!("- driver: for CUDA {}.{}", version / 1000, version % 1000 / 10));
        self.line(format!("- first opening of the GPU, with its compilation: {open_s:.2} s"));
        self.line(format!("- CPU: {}, {} threads", cpu_name(), rival::n_threads()));
        for device in devices {
            let (major, minor) = device.compute_capability;
            self.line(format!(
                "- GPU {}: {}, compute capability {major}.{minor}, {} multiprocessors at {} MHz, \
                 {} at {} MHz over {} bits, {} of cache, {} copy engines",
                device.ordinal,
                device.name,
                device.n_multiprocessors,
                device.clock_khz / 1000,
                size(device.memory_bytes),
                device.memory_clock_khz / 1000,
                device.memory_bus_bits,
                size(device.cache_bytes.into()),
                device.n_copy_engines,
            ));
        }
    }

    pub(crate) fn sets(&mut self, sets: &[Set]) {
        self.heading("Images");
        let grids = GRIDS_BITS.map(|bits| format!("entry points, grid {bits}")).join(" | ");
        self.table(&format!("set | images | KB/image | not decodable | no time | {grids}"));
        for set in sets {
            let n_bytes = set.n_bytes().max(1) as f64;
            let shares = (0..GRIDS_BITS.len()).map(|grid| {
                format!("{:.2} %", 100.0 * set.entry_point_bytes(grid) as f64 / n_bytes)
            });
            let per_image = n_bytes / 1000.0 / set.images.len().max(1) as f64;
            self.line(format!(
                "| {} | {} | {per_image:.1} | {} | {} | {} |",
                set.name,
                set.images.len(),
                set.n_undecodable,
                set.n_left_out,
                shares.collect::<Vec<_>>().join(" | "),
            ));
        }
    }

    pub(crate) fn checked(&mut self, checked: &[Checked]) {
        self.heading("Pixels against libjpeg-turbo");
        self.line("Whole images, 8 bits, in memory that held garbage before.\n");
        self.table("set | grid | equal | left to the CPU | wrong | no time | hash of all pixels");
        for it in checked {
            self.line(format!(
                "| {} | {} | {} | {} | {} | {} | {:016x} |",
                it.set, it.grid_bits, it.n_equal, it.n_fallback, it.n_wrong, it.n_left_out, it.hash
            ));
        }
        for it in checked.iter().filter(|it| it.n_wrong > 0) {
            self.is_fine = false;
            self.line(format!("\nWRONG in {}: {}", it.set, it.wrong.join("; ")));
        }
    }

    pub(crate) fn measured(&mut self, measured: &Measured) {
        self.heading("Images per second");
        let n_rounds = measured.cases.iter().map(|case| case.wall.len()).min().unwrap_or(0);
        let n_warm_up = measured.cases.iter().map(|case| case.n_warm_up).min().unwrap_or(0);
        self.line(format!(
            "Median (least-most) of {n_rounds} or more of {} rounds that go through all cases in \
             turn, after {n_warm_up} or more batches of each.\n\
             \"All\" is by the clock, with parsing, copies and kernels, two batches on their way; \
             \"GPU\" by its own events, without the copy to it. Images come from the host with \
             every batch (\"stream\"), their markers read by other threads before where it says \
             so, or were put into the GPU's memory before (\"device\").\n",
            measured.n_rounds_asked
        ));
        self.table("set | output | batch | grid | from | all | GPU | not decoded per batch");
        for case in &measured.cases {
            let gpu: Vec<f64> = case.timings.iter().map(|it| case.gpu_images_per_s(it)).collect();
            let (name, wall, gpu) = (case.name(measured), spread(&case.wall), spread(&gpu));
            self.line(format!("| {name} | {wall} | {gpu} | {} |", case.n_left));
        }
        self.heading("libjpeg-turbo on the CPU");
        self.table(&format!("set | images/s with {} threads", rival::n_threads()));
        for (name, rates) in measured.set_names.iter().zip(&measured.rivals) {
            self.line(format!("| {name} | {} |", spread(rates)));
        }
        self.kernels(measured);
    }

    pub(crate) fn drawn(&mut self, drawn: &Drawn) {
        self.heading("Fractals");
        self.line(format!(
            "256x256 pixels, {} points, with patches, as bitmaps in the GPU's memory; {} images at \
             a time, by the clock, medians (least-most).\n",
            drawn.points, drawn.n_images
        ));
        let threads = rival::n_threads();
        self.table(&format!("equal | left to the CPU | wrong | GPU | CPU, {threads} threads"));
        let (gpu, cpu) = (spread(&drawn.gpu), spread(&drawn.cpu));
        let Drawn { n_equal, n_left, n_wrong, .. } = drawn;
        self.line(format!("| {n_equal} | {n_left} | {n_wrong} | {gpu} | {cpu} |"));
        self.is_fine &= *n_wrong == 0;
    }

    pub(crate) fn rows(&mut self, (rows, kernels): &(Vec<Rows>, KernelTimes)) {
        self.heading("Rows that are drawn and augmented");
        self.line(
            "Batches of the loader, f16 NCHW, normalised, against those that it makes on the CPU; \
             by the clock, medians (least-most).\n",
        );
        let threads = rival::n_threads();
        self.table(&format!(
            "rows | equal | wrong | left to the CPU | GPU | CPU, {threads} threads"
        ));
        for it in rows {
            let Rows { name, n_equal, n_wrong, n_left, gpu, cpu } = it;
            let (gpu, cpu) = (spread(gpu), spread(cpu));
            self.line(format!("| {name} | {n_equal} | {n_wrong} | {n_left} | {gpu} | {cpu} |"));
            self.is_fine &= *n_wrong == 0;
        }
        self.line(
            "\nMicroseconds of the GPU per row, with a rotation and an equalized histogram:\n",
        );
        for (name, us) in kernels {
            self.line(format!("- {}: {us:.2}", name.trim_start_matches("fdconvert_")));
        }
    }

    pub(crate) fn no_nvjpeg(&mut self, error: &GpuError) {
        self.heading("nvJPEG");
        self.line(format!("skipped: {error}"));
    }

    pub(crate) fn nvjpeg(&mut self, rivals: &Rivals) {
        self.heading("nvJPEG");
        let (major, minor, patch) = rivals.version;
        let hardware = rivals.hardware.map_or("unknown".into(), |(n_decoders, n_cores)| {
            format!("{n_decoders} of {n_cores} cores each")
        });
        self.line(format!(
            "Version {major}.{minor}.{patch}; hardware decoders: {hardware}. The same bytes, all \
             images by nvJPEG, resized by the kernels; by the clock, two batches on their way, \
             medians (least-most). Differences are between its samples and libjpeg-turbo's, \
             0 to 255.\n"
        ));
        for (how, error) in &rivals.skipped {
            self.line(format!("- {}: skipped: {error}", engine(*how).replace(" | ", ", ")));
        }
        if !rivals.skipped.is_empty() {
            self.line("");
        }
        self.table(
            "engine | chroma | set | output | batch | images/s | not decoded per batch | \
             mean difference | largest",
        );
        for case in &rivals.cases {
            let (engine, output) = (engine(case.how), output_name(case.output));
            let difference = case.difference.as_ref().map_or("- | -".into(), |difference| {
                format!("{:.3} | {}", difference.mean(), difference.most)
            });
            self.line(format!(
                "| {engine} | {} | {output} | {} | {} | {} | {difference} |",
                case.set,
                case.batch,
                spread(&case.wall),
                case.n_left
            ));
        }
    }

    fn kernels(&mut self, measured: &Measured) {
        self.heading("Where the GPU's time goes");
        self.line("Microseconds per image (share of the kernels' time), medians.\n");
        // Drawing and changes have a separate table.
        let decoding =
            |kernel: &Kernel| !matches!(kernel, Kernel::Expand | Kernel::Change | Kernel::Write);
        let places = Kernel::ALL.iter().enumerate().filter(|(_, kernel)| decoding(kernel));
        let (places, names): (Vec<_>, Vec<_>) =
            places.map(|(at, it)| (at, it.name().trim_start_matches("fdconvert_"))).unzip();
        self.table(&format!(
            "set | output | batch | grid | from | upload | clear | {}",
            names.join(" | ")
        ));
        for case in measured.cases.iter().filter(|case| !case.timings.is_empty()) {
            let median_us = |of: &dyn Fn(&Timings) -> f32| {
                let all: Vec<f64> = case.timings.iter().map(|it| f64::from(of(it))).collect();
                sorted(&all).get(all.len() / 2).map_or(0.0, |ms| 1e3 * ms / case.batch as f64)
            };
            let upload = median_us(&|it| it.upload_ms);
            let total = median_us(&Timings::work_ms).max(f64::MIN_POSITIVE);
            let mut parts = vec![median_us(&|it| it.clear_ms)];
            for at in &places {
                parts.push(median_us(&|it| it.kernels_ms.get(*at).copied().unwrap_or(0.0)));
            }
            let cell = |us: &f64| format!("{us:.2} ({:.0} %)", 100.0 * us / total);
            let cells: Vec<_> = parts.iter().map(cell).collect();
            let name = case.name(measured);
            self.line(format!("| {name} | {upload:.2} | {} |", cells.join(" | ")));
        }
    }
}

fn engine(how: LibraryUse) -> String {
    let chroma = if how.smooth_chroma { "interpolated" } else { "repeated" };
    format!("{} | {chroma}", how.engine.name())
}

impl Case {
    fn gpu_images_per_s(&self, timings: &Timings) -> f64 {
        1e3 * self.batch as f64 / f64::from(timings.work_ms()).max(1e-9)
    }
}

/// Formats median, minimum and maximum.
fn spread(values: &[f64]) -> String {
    let sorted = sorted(values);
    match (sorted.first(), sorted.get(sorted.len() / 2), sorted.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.0} ({least:.0}-{most:.0})"),
        _ => "-".into(),
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn cpu_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':'])).into()
}
