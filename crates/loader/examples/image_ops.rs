//! Prints the time that transforms take of an image of 224 x 224, and mixing of a batch of them.
#![allow(clippy::print_stdout, reason = "a measurement for people")]

use fdconvert_core::Result;
use fdconvert_loader::{
    Blend, DType, Layout, Output, Transform, TransformList,
    parts::{DrawKey, Transformer},
};
use std::{hint::black_box, time::Instant};

const SIDE: u32 = 224;

/// Transforms of the pixels, by their JSON.
const TRANSFORMS: [&str; 21] = [
    r#"{"RandomHorizontalFlip": {"p": 1}}"#,
    r#"{"RandomVerticalFlip": {"p": 1}}"#,
    r#"{"Resize": {"size": [160, 160]}}"#,
    r#"{"RandomResizedCrop": {"size": [224, 224]}}"#,
    r#"{"Pad": {"padding": [8, 8, 8, 8], "padding_mode": "reflect"}}"#,
    r#"{"RandomRotation": {"degrees": [17, 17]}}"#,
    r#"{"RandomAffine": {"degrees": [17, 17], "shear": [9, 9, 0, 0], "interpolation": "bilinear"}}"#,
    r#"{"RandomPerspective": {"p": 1}}"#,
    r#"{"ColorJitter": {"brightness": [1.3, 1.3]}}"#,
    r#"{"ColorJitter": {"contrast": [1.3, 1.3]}}"#,
    r#"{"ColorJitter": {"saturation": [1.3, 1.3]}}"#,
    r#"{"ColorJitter": {"hue": [0.1, 0.1]}}"#,
    r#"{"Grayscale": {}}"#,
    r#"{"GaussianBlur": {"kernel_size": [23, 23]}}"#,
    r#"{"RandomInvert": {"p": 1}}"#,
    r#"{"RandomPosterize": {"bits": 4, "p": 1}}"#,
    r#"{"RandomSolarize": {"threshold": 128, "p": 1}}"#,
    r#"{"RandomAdjustSharpness": {"sharpness_factor": 1.7, "p": 1}}"#,
    r#"{"RandomAutocontrast": {"p": 1}}"#,
    r#"{"RandomEqualize": {"p": 1}}"#,
    r#"{"RandomErasing": {"p": 1, "value": {"pixels": {"mean": [124, 116, 104], "std": [58, 57, 57]}}}}"#,
];

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let pixels: Vec<u8> = (0..SIDE * SIDE * 3)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 / 2 + (i / 1200) as u8)
        .collect();
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for layout in [Layout::Nhwc, Layout::Nchw] {
            let form = vec![Transform::ToDtype { dtype }, Transform::ToLayout { layout }];
            println!("copy and write {dtype:?} {layout:?}: {:.1} us", time(&pixels, form)?);
        }
    }
    for json in TRANSFORMS {
        let micros = time(&pixels, vec![serde_json::from_str(json)?])?;
        println!("{json}: {micros:.1} us");
    }
    for dtype in [DType::U8, DType::F16, DType::F32] {
        let output = Output {
            size: (SIDE, SIDE),
            dtype,
            layout: Layout::Nchw,
            channels: 3,
            normalise: None,
        };
        let mut batch = vec![0; 64 * output.n_bytes()];
        let mut rows: Vec<&mut [u8]> = batch.chunks_exact_mut(output.n_bytes()).collect();
        for blend in [Blend::MixUp { lambda: 0.3 }, Blend::cut(0.5, (112, 112), output.size)] {
            let micros = best(|| blend.mix_images(&output, black_box(&mut rows))) / 64.0;
            println!("{dtype:?} {blend:?}: {micros:.1} us for each of 64 rows");
        }
    }
    Ok(())
}

fn time(pixels: &[u8], transforms: Vec<Transform>) -> Result<f64> {
    let list = TransformList::new(transforms)?;
    let key = DrawKey { seed: 0, epoch: 0, sample: 0, occurrence: 0, view: 0 };
    let mut transformer = Transformer::default();
    let mut apply = || transformer.apply(&list, pixels, (SIDE, SIDE), key);
    apply()?;
    Ok(best(|| drop(black_box(apply()))))
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
