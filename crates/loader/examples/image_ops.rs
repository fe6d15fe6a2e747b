//! Applies a loader's image operations to files of raw pixels, one job per line of standard input;
//! `tests/torchvision.py` compares the results with torchvision's.
//!
//! ```text
//! op Name STRENGTH WIDTH HEIGHT IN OUT           one augmentation
//! levels narrow|wide BINS WIDTH HEIGHT           prints every strength
//! center RESIZE OUTW OUTH WIDTH HEIGHT IN OUT    Resize, CenterCrop, ToTensor, Normalize; f32 NCHW
//! squeeze OUTW OUTH WIDTH HEIGHT IN OUT          Resize to a size; u8 NHWC
//! time                                           prints microseconds of the steps at 224x224
//! ```
use fdconvert_loader::{
    Augment, Blend, Crop, DType, Layout, Normalise, Output,
    parts::{Area, Augmenter, Geometry, Key, Op, Region, Renderer},
};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

const KEY: Key = Key { seed: 0, epoch: 0, sample: 0, occurrence: 0 };

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let line = line?;
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["op", name, strength, width, height, from, to] => {
                let mut image = std::fs::read(from)?;
                let size = (width.parse()?, height.parse()?);
                Augmenter::default().apply(op(name)?, strength.parse()?, size, &mut image);
                std::fs::write(to, image)?;
            }
            ["levels", range, n_bins, width, height] => {
                let n_bins = n_bins.parse()?;
                let policy = if *range == "wide" {
                    Augment::TrivialAugmentWide { n_bins }
                } else {
                    Augment::RandAugment { n_ops: 1, magnitude: 0, n_bins }
                };
                for op in Op::ALL {
                    for bin in 0..n_bins {
                        let strength = policy.strength(op, bin, (width.parse()?, height.parse()?));
                        writeln!(out, "{op:?} {bin} {strength:?}")?;
                    }
                }
            }
            ["center", resize, out_width, out_height, width, height, from, to] => {
                let output = Output {
                    size: (out_width.parse()?, out_height.parse()?),
                    dtype: DType::F32,
                    layout: Layout::Nchw,
                    normalise: Some(Normalise::IMAGENET),
                };
                let crop = Crop::Center { resize: resize.parse()? };
                render(output, crop, (width.parse()?, height.parse()?), from, to)?;
            }
            ["squeeze", out_width, out_height, width, height, from, to] => {
                let output = Output {
                    size: (out_width.parse()?, out_height.parse()?),
                    dtype: DType::U8,
                    layout: Layout::Nhwc,
                    normalise: None,
                };
                render(output, Crop::None, (width.parse()?, height.parse()?), from, to)?;
            }
            ["time"] => time(&mut out)?,
            _ => return Err(format!("not a job: {line}").into()),
        }
    }
    Ok(())
}

fn op(name: &str) -> Result<Op, String> {
    let found = Op::ALL.into_iter().find(|op| format!("{op:?}") == name);
    found.ok_or_else(|| format!("no augmentation is called {name}"))
}

fn render(
    output: Output,
    crop: Crop,
    (width, height): (u32, u32),
    from: &str,
    to: &str,
) -> Result<(), Box<dyn Error>> {
    let pixels = std::fs::read(from)?;
    let region = Region {
        pixels: &pixels,
        area: Area { x: 0, y: 0, width, height },
        channels: 3,
        denominator: 1,
    };
    let geometry = Geometry::of(crop, 0.0, output.size, (width, height), KEY);
    let mut row = vec![0; output.n_bytes()];
    Renderer::new(output, None)?.render(from, &region, &geometry, KEY, &mut row)?;
    std::fs::write(to, row)?;
    Ok(())
}

/// Returns the best of many runs, because other programs may share the machine.
fn best(mut work: impl FnMut()) -> f64 {
    let times = (0..400).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e6
    });
    times.fold(f64::INFINITY, f64::min)
}

fn time(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let size = (224, 224);
    let pixels: Vec<u8> = (0..224 * 224 * 3_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 / 2 + (i / 1200) as u8)
        .collect();
    let area = Area { x: 0, y: 0, width: 224, height: 224 };
    let region = Region { pixels: &pixels, area, channels: 3, denominator: 1 };
    // The size does not change, so that the resize is a copy and the rest is measured.
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for layout in [Layout::Nhwc, Layout::Nchw] {
            for flip in [false, true] {
                let output = Output { size, dtype, layout, normalise: None };
                let geometry = Geometry::of(Crop::None, f64::from(u8::from(flip)), size, size, KEY);
                let mut row = vec![0; output.n_bytes()];
                let mut renderer = Renderer::new(output, None)?;
                let mut failed = None;
                let micros = best(|| {
                    let done = renderer.render("", &region, &geometry, KEY, &mut row);
                    failed = black_box(done).err();
                });
                if let Some(error) = failed {
                    return Err(error.into());
                }
                writeln!(out, "copy and write {dtype:?} {layout:?} flip {flip}: {micros:.1} us")?;
            }
        }
    }
    let mut copy = pixels.clone();
    let micros = best(|| black_box(&mut copy).copy_from_slice(black_box(&pixels)));
    writeln!(out, "copy alone: {micros:.1} us")?;
    for dtype in [DType::U8, DType::F16, DType::F32] {
        let output = Output { size, dtype, layout: Layout::Nchw, normalise: None };
        let mut batch = vec![0; 64 * output.n_bytes()];
        let mut rows: Vec<&mut [u8]> = batch.chunks_exact_mut(output.n_bytes()).collect();
        for blend in [Blend::MixUp { lambda: 0.3 }, Blend::cut(0.5, (112, 112), size)] {
            let micros = best(|| blend.mix_images(&output, black_box(&mut rows))) / 64.0;
            writeln!(out, "{dtype:?} {blend:?}: {micros:.1} us for each of 64 rows")?;
        }
    }
    let mut augmenter = Augmenter::default();
    for op in Op::ALL {
        let policy = Augment::RandAugment { n_ops: 1, magnitude: 9, n_bins: 31 };
        let strength = policy.strength(op, 9, size);
        let mut image = pixels.clone();
        let micros = best(|| augmenter.apply(op, strength, size, &mut image));
        writeln!(out, "{op:?} {strength}: {micros:.1} us")?;
    }
    Ok(())
}
