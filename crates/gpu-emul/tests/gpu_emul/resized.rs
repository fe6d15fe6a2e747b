//! Crop, resize, flip and normalisation against a plain implementation over whole pixels.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use crate::common::{by_libjpeg, small};
use fdconvert_core::Pixels;
use fdconvert_gpu::{Crop, Limits, Order, Output, Plan, Request, SampleType, Status, Tensor};
use fdconvert_gpu_emul::decode;
use fdconvert_jpeg::{EntryPoints, parse};
use fdconvert_testkit::fixtures::Random;
use half::{bf16, f16};

const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

fn tensor(width: u32, height: u32, sample_type: SampleType, order: Order) -> Tensor {
    Tensor { width, height, sample_type, order, mean: MEAN, deviation: DEVIATION }
}

/// Returns the weighted mean of a triangle filter, in double precision.
fn filtered(
    (n_in, reach): (u32, bool),
    (start, part): (f64, f64),
    n_out: u32,
    at: u32,
    pixel: impl Fn(u32) -> f64,
) -> f64 {
    let step = part / f64::from(n_out);
    let support = step.max(1.0);
    let center = start + (f64::from(at) + 0.5) * step;
    // All pixels with a weight, or only those that the crop touches.
    let first = if reach { 0 } else { (start + 1e-5).floor() as u32 };
    let end =
        if reach { n_in } else { ((start + part - 1e-5).ceil() as u32).clamp(first + 1, n_in) };
    let (mut sum, mut total) = (0.0, 0.0);
    for x in first..end {
        let weight = (1.0 - ((f64::from(x) + 0.5 - center) / support).abs()).max(0.0);
        sum += weight * pixel(x);
        total += weight;
    }
    sum / total
}

/// Returns samples 0 to 255 of one output pixel.
fn expected(
    pixels: &Pixels,
    &Request { crop, reach, flip, .. }: &Request<'_>,
    tensor: &Tensor,
    (x, y): (u32, u32),
) -> [f64; 3] {
    let (width, height) = (f64::from(pixels.width), f64::from(pixels.height));
    let x = if flip { tensor.width - 1 - x } else { x };
    let channels = usize::from(pixels.channels);
    std::array::from_fn(|channel| {
        let (left, top) = (f64::from(crop.left) * width, f64::from(crop.top) * height);
        let part_x = (f64::from(crop.width) * width).min(width - left);
        let part_y = (f64::from(crop.height) * height).min(height - top);
        filtered((pixels.height, reach), (top, part_y), tensor.height, y, |row| {
            filtered((pixels.width, reach), (left, part_x), tensor.width, x, |column| {
                let at = (row * pixels.width + column) as usize * channels;
                f64::from(pixels.data[at + channel.min(channels - 1)])
            })
        })
    })
}

/// Returns one sample of the output as a number.
fn sample(output: &[u8], sample_type: SampleType, at: usize) -> f64 {
    let bytes = |n: usize| &output[at * n..(at + 1) * n];
    match sample_type {
        SampleType::U8 => bytes(1)[0].into(),
        SampleType::F16 => f16::from_le_bytes(bytes(2).try_into().unwrap()).into(),
        SampleType::Bf16 => bf16::from_le_bytes(bytes(2).try_into().unwrap()).into(),
        SampleType::F32 => f32::from_le_bytes(bytes(4).try_into().unwrap()).into(),
    }
}

#[test]
fn crops_are_resized_and_normalised() {
    let images = small();
    let mut random = Random::new(5);
    let mut compared = 0;
    for (number, (sample_type, order)) in [
        (SampleType::U8, Order::Nhwc),
        (SampleType::U8, Order::Nchw),
        (SampleType::F16, Order::Nchw),
        (SampleType::Bf16, Order::Nhwc),
        (SampleType::F32, Order::Nchw),
        (SampleType::F32, Order::Nhwc),
    ]
    .into_iter()
    .enumerate()
    {
        let tensor = tensor(13 + number as u32, 7 + number as u32, sample_type, order);
        let chosen: Vec<_> = images.iter().skip(number).step_by(5).collect();
        let stored: Vec<_> = chosen
            .iter()
            .map(|(_, bytes)| {
                let jpeg = parse(bytes).unwrap();
                EntryPoints::build(&jpeg, bytes, 512).unwrap().to_bytes()
            })
            .collect();
        let mut fraction = |most: f32| most * random.below(1001) as f32 / 1000.0;
        let requests: Vec<_> = chosen
            .iter()
            .zip(&stored)
            .enumerate()
            .map(|(number, ((_, bytes), entry_points))| {
                let (left, top) = (fraction(0.9), fraction(0.9));
                let width = (0.01 + fraction(0.99)).min(1.0 - left);
                let height = (0.01 + fraction(0.99)).min(1.0 - top);
                let part = Crop { left, top, width, height };
                let crop = if number % 3 == 0 { Crop::WHOLE } else { part };
                let (reach, flip) = (number % 5 < 2, number % 2 == 1);
                Request { crop, reach, flip, ..Request::whole(bytes, Some(entry_points)) }
            })
            .collect();
        // Small chunks, so that there are several.
        let limits = Limits { chunk_blocks: 300, ..Limits::DEFAULT };
        let plan = Plan::new(&requests, Output::Tensor(tensor), limits);
        let decoded = decode(&plan, &requests);
        assert!(plan.statuses(&decoded.states).iter().all(|status| *status == Status::Decoded));
        for (n, request) in requests.iter().enumerate() {
            let bytes = &chosen[n].1;
            let jpeg = parse(bytes).unwrap();
            let pixels = by_libjpeg(bytes, jpeg.width, jpeg.height).unwrap();
            let place = plan.place(n).unwrap();
            let output = &decoded.output[place.bytes.start as usize..place.bytes.end as usize];
            for y in 0..tensor.height {
                for x in 0..tensor.width {
                    let wanted = expected(&pixels, request, &tensor, (x, y));
                    for (channel, wanted) in wanted.into_iter().enumerate() {
                        let (width, height) = (tensor.width as usize, tensor.height as usize);
                        let pixel = y as usize * width + x as usize;
                        let at = match order {
                            Order::Nchw => channel * width * height + pixel,
                            Order::Nhwc => pixel * 3 + channel,
                        };
                        let found = sample(output, sample_type, at);
                        let found = match sample_type {
                            SampleType::U8 => found,
                            _ => {
                                (found * f64::from(DEVIATION[channel]) + f64::from(MEAN[channel]))
                                    * 255.0
                            }
                        };
                        // Rows are kept in 256ths between the passes; bfloat16 has 8 bits.
                        let tolerance = match sample_type {
                            SampleType::U8 => 0.51,
                            SampleType::F16 => 0.07,
                            SampleType::Bf16 => 0.6,
                            SampleType::F32 => 0.02,
                        };
                        assert!(
                            (found - wanted).abs() < tolerance,
                            "{} at {x} {y} {channel}: {found} instead of {wanted}, {request:?}",
                            chosen[n].0,
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    println!("{compared} samples compared");
}

#[test]
fn the_same_size_changes_nothing() {
    for (name, bytes) in small() {
        let jpeg = parse(&bytes).unwrap();
        let entry_points = EntryPoints::build(&jpeg, &bytes, 2048).unwrap().to_bytes();
        let request = Request::whole(&bytes, Some(&entry_points));
        let tensor = tensor(jpeg.width, jpeg.height, SampleType::U8, Order::Nhwc);
        let plan = Plan::new(&[request], Output::Tensor(tensor), Limits::DEFAULT);
        let decoded = decode(&plan, &[request]);
        let pixels = by_libjpeg(&bytes, jpeg.width, jpeg.height).unwrap();
        let wanted: Vec<u8> = match pixels.channels {
            1 => pixels.data.iter().flat_map(|gray| [*gray; 3]).collect(),
            _ => pixels.data,
        };
        assert_eq!(decoded.output, wanted, "{name}");
    }
}
