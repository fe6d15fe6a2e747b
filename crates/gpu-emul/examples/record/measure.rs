//! Times: whole batches by wall clock, kernels by the GPU's clock.
use super::{Result, Settings, images::Set, rival};
use fdconvert_gpu::{
    Decoder, Diagnostics, Gpu, Limits, Order, Output, Pending, Prepared, Request, SampleType,
    Source, Status, Store, Stored, Tensor, Timings,
};
use fdconvert_jpeg::GRIDS_BITS;
use std::time::Instant;

/// Output for training.
pub(crate) const TENSOR: Output = Output::Tensor(Tensor {
    width: 224,
    height: 224,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
});

/// The grid in use except when grids are compared.
const USUAL_GRID: usize = 1;
/// Batches in flight at the same time.
const IN_FLIGHT: usize = 2;
/// Images uploaded together to the GPU's memory.
const STORED_AT_ONCE: usize = 1024;
/// Images of a measurement, unless a batch has more.
pub(crate) const MIN_IMAGES: usize = 2048;

/// Place of images before decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Residency {
    /// In the host's memory, uploaded with every batch.
    Stream,
    /// The same, already parsed by other threads, as in the loader.
    Prepared,
    /// In the GPU's memory.
    Device,
}

/// A set, and its images as prepared and stored on the GPU with the usual grid; images that do not
/// support it are left out.
struct Resident<'a> {
    set: &'a Set,
    prepared: Vec<Option<Prepared>>,
    stored: Vec<Option<Stored>>,
}

impl<'a> Resident<'a> {
    fn new(gpu: &Gpu, set: &'a Set) -> Result<Self> {
        // A scan takes less than its file plus a little in the store.
        let capacity_bytes = (set.n_bytes() + 64 * set.images.len()) as u64;
        let mut store = Store::new(gpu, capacity_bytes, Limits::DEFAULT)?;
        let requests = set.requests(USUAL_GRID, 0, set.images.len());
        let (mut prepared, mut stored) = (Vec::new(), Vec::new());
        for requests in requests.chunks(STORED_AT_ONCE) {
            let files: Vec<_> = requests
                .iter()
                .filter_map(|request| match request.image {
                    Source::Bytes { bytes, entry_points } => Some((bytes, entry_points)),
                    _ => None,
                })
                .collect();
            let read = |(bytes, entry_points): &(&[u8], Option<&[u8]>)| {
                Prepared::new(bytes, *entry_points, Limits::DEFAULT).ok()
            };
            prepared.extend(files.iter().map(read));
            stored.extend(store.add(&files)?.into_iter().map(std::result::Result::ok));
        }
        Ok(Self { set, prepared, stored })
    }
}

/// One way to decode one set.
pub(crate) struct Case {
    set: usize,
    grid: usize,
    output: Output,
    residency: Residency,
    pub(crate) batch: usize,
    pub(crate) n_warm_up: usize,
    /// Images per second of every round, including copies, host and kernels.
    pub(crate) wall: Vec<f64>,
    /// Timings of one separate batch per round.
    pub(crate) timings: Vec<Timings>,
    pub(crate) n_left: usize,
}

pub(crate) fn output_name(output: Output) -> &'static str {
    if output == Output::Native { "u8 as stored" } else { "f16 NCHW 224" }
}

pub(crate) struct Measured {
    pub(crate) set_names: Vec<String>,
    pub(crate) cases: Vec<Case>,
    /// For each set, libjpeg-turbo's images per second of every round.
    pub(crate) rivals: Vec<Vec<f64>>,
    pub(crate) n_rounds_asked: usize,
}

impl Case {
    pub(crate) fn name(&self, measured: &Measured) -> String {
        let set = measured.set_names.get(self.set).map_or("", String::as_str);
        let output = output_name(self.output);
        let grid_bits = GRIDS_BITS.get(self.grid).copied().unwrap_or(0);
        let from = match self.residency {
            Residency::Stream => "stream",
            Residency::Prepared => "stream, read before",
            Residency::Device => "device",
        };
        format!("{set} | {output} | {} | {grid_bits} | {from}", self.batch)
    }

    fn requests<'a>(&self, resident: &'a Resident<'a>, first: usize) -> Vec<Request<'a>> {
        let mut requests = resident.set.requests(self.grid, first, self.batch);
        let from = first % resident.stored.len().max(1);
        let known = resident.prepared.iter().zip(&resident.stored).cycle().skip(from);
        for (request, (prepared, stored)) in requests.iter_mut().zip(known) {
            match (self.residency, prepared, stored, request.image.bytes()) {
                (Residency::Prepared, Some(image), _, Some(bytes)) => {
                    request.image = Source::Prepared { image, bytes };
                }
                (Residency::Device, _, Some(stored), _) => request.image = Source::Stored(stored),
                _ => {}
            }
        }
        requests
    }

    /// Decodes `n_batches`, two at a time.
    fn run(&self, decoder: &mut Decoder, resident: &Resident<'_>, n_batches: usize) -> Result<f64> {
        let began = Instant::now();
        let mut running: Option<Pending> = None;
        for number in 0..n_batches {
            let requests = self.requests(resident, number * self.batch);
            let next = decoder.submit(&requests, self.output)?;
            if let Some(before) = running.replace(next) {
                before.wait()?;
            }
        }
        if let Some(last) = running {
            last.wait()?;
        }
        Ok((n_batches * self.batch) as f64 / began.elapsed().as_secs_f64())
    }

    fn warm_up(
        &mut self,
        decoder: &mut Decoder,
        resident: &Resident<'_>,
        n: usize,
        by: Instant,
    ) -> Result<()> {
        while self.n_warm_up < n && (self.n_warm_up == 0 || Instant::now() < by) {
            self.run(decoder, resident, IN_FLIGHT)?;
            self.n_warm_up += IN_FLIGHT;
        }
        Ok(())
    }

    fn measure(&mut self, decoder: &mut Decoder, resident: &Resident<'_>) -> Result<()> {
        let n_batches =
            MIN_IMAGES.min(8 * resident.set.images.len()).div_ceil(self.batch).max(2 * IN_FLIGHT);
        self.wall.push(self.run(decoder, resident, n_batches)?);
        decoder.diagnose(Diagnostics { timings: true, ..Diagnostics::default() });
        let requests = self.requests(resident, self.wall.len() * self.batch);
        let batch = decoder.decode(&requests, self.output);
        decoder.diagnose(Diagnostics::default());
        let batch = batch?;
        self.timings.extend(batch.timings());
        self.n_left = batch.statuses().iter().filter(|it| **it != Status::Decoded).count();
        Ok(())
    }
}

/// Runs all cases: `warm_by` ends the warm-up before the first round, `deadline` the rounds.
pub(crate) fn all(
    gpu: &Gpu,
    decoder: &mut Decoder,
    sets: &[Set],
    settings: &Settings,
    warm_by: Instant,
    deadline: Instant,
) -> Result<Measured> {
    let residents: Vec<_> =
        sets.iter().map(|set| Resident::new(gpu, set)).collect::<Result<_>>()?;
    let mut cases = cases(sets.len(), &settings.batches);
    let n_cases = cases.len();
    for (number, case) in cases.iter_mut().enumerate() {
        // The remaining time is divided evenly.
        let left = warm_by.saturating_duration_since(Instant::now());
        let by = Instant::now() + left / (n_cases - number) as u32;
        let Some(resident) = residents.get(case.set) else { continue };
        case.warm_up(decoder, resident, settings.warm_up, by)?;
    }
    let mut rivals = vec![Vec::new(); sets.len()];
    'rounds: for _ in 0..settings.rounds {
        for (set, rates) in sets.iter().zip(&mut rivals) {
            if Instant::now() > deadline {
                break 'rounds;
            }
            let n_images = MIN_IMAGES.min(8 * set.images.len());
            rates.push(rival::images_per_s(set, n_images)?);
        }
        for case in &mut cases {
            if Instant::now() > deadline {
                break 'rounds;
            }
            let Some(resident) = residents.get(case.set) else { continue };
            case.measure(decoder, resident)?;
        }
    }
    let set_names = sets.iter().map(|set| set.name.clone()).collect();
    Ok(Measured { set_names, cases, rivals, n_rounds_asked: settings.rounds })
}

/// Returns the batch size in use except when sizes are compared.
pub(crate) fn usual_batch(batches: &[usize]) -> usize {
    batches.get(batches.len() / 2).map_or(256, |batch| (*batch).max(1))
}

/// Every batch size with either output on the usual grid, every grid with one of them, and the
/// usual grid from the GPU's memory as well.
fn cases(n_sets: usize, batches: &[usize]) -> Vec<Case> {
    let usual = usual_batch(batches);
    let mut kinds: Vec<(usize, usize, Output, Residency)> = Vec::new();
    for batch in batches.iter().map(|batch| (*batch).max(1)) {
        let travelling = |output| (batch, USUAL_GRID, output, Residency::Stream);
        kinds.extend([Output::Native, TENSOR].map(travelling));
    }
    let others = (0..GRIDS_BITS.len()).filter(|grid| *grid != USUAL_GRID);
    kinds.push((usual, USUAL_GRID, TENSOR, Residency::Prepared));
    kinds.push((usual, USUAL_GRID, TENSOR, Residency::Device));
    kinds.extend(others.map(|grid| (usual, grid, TENSOR, Residency::Stream)));
    let all = (0..n_sets).flat_map(|set| kinds.iter().map(move |kind| (set, *kind)));
    let case = |(set, (batch, grid, output, residency))| Case {
        set,
        grid,
        output,
        residency,
        batch,
        n_warm_up: 0,
        wall: Vec::new(),
        timings: Vec::new(),
        n_left: 0,
    };
    all.map(case).collect()
}
