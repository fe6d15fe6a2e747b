//! Time: whole batches by the clock, kernels by the GPU's own.
use super::{Result, Settings, images::Set, rival};
use fdconvert_gpu::{
    Decoder, Diagnostics, Order, Output, Pending, SampleType, Status, Tensor, Timings,
};
use fdconvert_jpeg_index::GRIDS_BITS;
use std::time::Instant;

/// What training takes.
const TENSOR: Output = Output::Tensor(Tensor {
    width: 224,
    height: 224,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
});

/// The grid that is used where grids are not compared.
const USUAL_GRID: usize = 1;
/// Batches that are on their way at the same time.
const IN_FLIGHT: usize = 2;
/// Images of a measurement, unless a batch has more.
const MIN_IMAGES: usize = 2048;

/// One way to decode one set.
pub(crate) struct Case {
    set: usize,
    grid: usize,
    output: Output,
    pub(crate) batch: usize,
    pub(crate) n_warm_up: usize,
    /// Images per second of every round: copies, host and kernels.
    pub(crate) wall: Vec<f64>,
    /// A batch of every round by itself.
    pub(crate) timings: Vec<Timings>,
    /// Images of a batch that the kernels did not decode.
    pub(crate) n_left: usize,
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
        let output = if self.output == Output::Native { "u8 as stored" } else { "f16 NCHW 224" };
        let grid_bits = GRIDS_BITS.get(self.grid).copied().unwrap_or(0);
        format!("{set} | {output} | {} | {grid_bits}", self.batch)
    }

    /// Decodes `n_batches`, two at a time.
    fn run(&self, decoder: &mut Decoder, set: &Set, n_batches: usize) -> Result<f64> {
        let began = Instant::now();
        let mut running: Option<Pending> = None;
        for number in 0..n_batches {
            let requests = set.requests(self.grid, number * self.batch, self.batch);
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

    fn warm_up(&mut self, decoder: &mut Decoder, set: &Set, n: usize, by: Instant) -> Result<()> {
        while self.n_warm_up < n && (self.n_warm_up == 0 || Instant::now() < by) {
            self.run(decoder, set, IN_FLIGHT)?;
            self.n_warm_up += IN_FLIGHT;
        }
        Ok(())
    }

    fn measure(&mut self, decoder: &mut Decoder, set: &Set) -> Result<()> {
        let n_batches =
            MIN_IMAGES.min(8 * set.images.len()).div_ceil(self.batch).max(2 * IN_FLIGHT);
        self.wall.push(self.run(decoder, set, n_batches)?);
        decoder.diagnose(Diagnostics { timings: true, ..Diagnostics::default() });
        let requests = set.requests(self.grid, self.wall.len() * self.batch, self.batch);
        let batch = decoder.decode(&requests, self.output);
        decoder.diagnose(Diagnostics::default());
        let batch = batch?;
        self.timings.extend(batch.timings());
        self.n_left = batch.statuses().iter().filter(|it| **it != Status::Decoded).count();
        Ok(())
    }
}

/// All cases: `warm_by` ends what runs before the first round, `deadline` the rounds.
pub(crate) fn all(
    decoder: &mut Decoder,
    sets: &[Set],
    settings: &Settings,
    warm_by: Instant,
    deadline: Instant,
) -> Result<Measured> {
    let mut cases = cases(sets.len(), &settings.batches);
    let n_cases = cases.len();
    for (number, case) in cases.iter_mut().enumerate() {
        // What is left of the time is divided evenly.
        let left = warm_by.saturating_duration_since(Instant::now());
        let by = Instant::now() + left / (n_cases - number) as u32;
        let Some(set) = sets.get(case.set) else { continue };
        case.warm_up(decoder, set, settings.warm_up, by)?;
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
            let Some(set) = sets.get(case.set) else { continue };
            case.measure(decoder, set)?;
        }
    }
    let set_names = sets.iter().map(|set| set.name.clone()).collect();
    Ok(Measured { set_names, cases, rivals, n_rounds_asked: settings.rounds })
}

/// Every size of batch with either output on the usual grid, and every grid with one of them.
fn cases(n_sets: usize, batches: &[usize]) -> Vec<Case> {
    let usual = batches.get(batches.len() / 2).map_or(256, |batch| (*batch).max(1));
    let mut kinds: Vec<(usize, usize, Output)> = Vec::new();
    for batch in batches.iter().map(|batch| (*batch).max(1)) {
        kinds.extend([(batch, USUAL_GRID, Output::Native), (batch, USUAL_GRID, TENSOR)]);
    }
    let others = (0..GRIDS_BITS.len()).filter(|grid| *grid != USUAL_GRID);
    kinds.extend(others.map(|grid| (usual, grid, TENSOR)));
    let all = (0..n_sets).flat_map(|set| kinds.iter().map(move |kind| (set, *kind)));
    let case = |(set, (batch, grid, output))| Case {
        set,
        grid,
        output,
        batch,
        n_warm_up: 0,
        wall: Vec::new(),
        timings: Vec::new(),
        n_left: 0,
    };
    all.map(case).collect()
}
