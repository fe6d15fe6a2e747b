//! What torchvision made of small images: `testdata/make.py`.

use super::*;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

type Size = (u32, u32);

#[test]
fn results_are_torchvisions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/transform/pixel/testdata");
    let differences = compare(&folder);
    assert!(differences.len() >= 20, "{differences:?}");
    for (operation, Difference { n_levels, n_other, largest }) in differences {
        match operation.as_str() {
            "blur" => assert!(largest <= 1 && n_other * 1000 <= n_levels, "{operation}: {n_other}"),
            _ => assert_eq!(n_other, 0, "{operation}: {largest}"),
        }
    }
}

#[derive(Debug, Default)]
struct Difference {
    n_levels: usize,
    n_other: usize,
    largest: u8,
}

/// Compares with the results in a folder, by operation.
fn compare(folder: &Path) -> BTreeMap<String, Difference> {
    let cases = fs::read(folder.join("golden.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    let expected = fs::read(folder.join("golden.bin")).unwrap();
    let mut differences = BTreeMap::<String, Difference>::new();
    for case in &cases {
        let (operation, size) = (case["op"].as_str().unwrap(), size_of(&case["size"]));
        let image = make_image(case["image"].as_u64().unwrap(), size);
        let (result, out) = run(operation, &image, size, case);
        assert_eq!(out, size_of(&case["out"]), "{case}");
        let levels = result.as_flattened();
        let difference = differences.entry(operation.to_owned()).or_default();
        difference.n_levels += levels.len();
        if let Some(hash) = case["hash"].as_str() {
            let is_same = format!("{:016x}", fnv(levels)) == hash;
            difference.n_other += usize::from(!is_same);
            continue;
        }
        let at = case["at"].as_u64().unwrap() as usize;
        for (level, expected) in levels.iter().zip(&expected[at..at + levels.len()]) {
            difference.n_other += usize::from(level != expected);
            difference.largest = difference.largest.max(level.abs_diff(*expected));
        }
    }
    differences
}

fn run(operation: &str, image: &[Pixel], size: Size, case: &Value) -> (Vec<Pixel>, Size) {
    let arguments = &case["args"];
    let number = |name: &str| arguments[name].as_f64().unwrap();
    let whole = |name: &str| arguments[name].as_i64().unwrap() as i32;
    let (width, height) = size;
    let mut result = image.to_vec();
    match operation {
        "brightness" => Curves::brightness(number("factor")).apply(&mut result),
        "contrast" => Curves::contrast(number("factor"), mean_gray(image)).apply(&mut result),
        "saturation" => saturation(&mut result, number("factor")),
        "hue" => hue(&mut result, number("factor")),
        "grayscale" => to_grayscale(&mut result),
        "invert" => Curves::invert().apply(&mut result),
        "solarize" => Curves::solarize(number("threshold")).apply(&mut result),
        "posterize" => Curves::posterize(whole("bits") as u32).apply(&mut result),
        "equalize" => Curves::equalize(&Counts::of(image)).apply(&mut result),
        "autocontrast" => {
            Curves::autocontrast(Counts::of(image).extremes()).apply(&mut result);
        }
        "sharpness" => {
            sharpness(image, width, &mut result, number("factor"), &mut Vec::new());
        }
        "blur" => {
            let kernel = |axis: usize| {
                let size = arguments["size"][axis].as_u64().unwrap() as usize;
                Gauss::new(size, arguments["sigma"][axis].as_f64().unwrap())
            };
            let kernels = [&kernel(0), &kernel(1)];
            gaussian_blur(image, size, &mut result, kernels, &mut BlurRows::default());
        }
        "horizontal_flip" => flip_columns(&mut result, width),
        "vertical_flip" => flip_rows(&mut result, width),
        "crop" => {
            let corner = (whole("left"), whole("top"));
            let to_size = (whole("width") as u32, whole("height") as u32);
            return cropped(image, size, corner, to_size, Padding::Constant([0; 3]));
        }
        "pad" => {
            let padding = match arguments["mode"].as_str().unwrap() {
                "constant" => Padding::Constant(numbers(&arguments["fill"]).map(|it| it as u8)),
                "edge" => Padding::Edge,
                "reflect" => Padding::Reflect,
                _ => Padding::Symmetric,
            };
            let [left, top, right, bottom] = numbers(&arguments["padding"]).map(|it| it as i32);
            let to_size = (width as i32 + left + right, height as i32 + top + bottom);
            let to_size = (to_size.0 as u32, to_size.1 as u32);
            return cropped(image, size, (-left, -top), to_size, padding);
        }
        "erase" => {
            let area = [whole("j"), whole("i"), whole("w"), whole("h")].map(|it| it as u32);
            let area = area.into();
            let colour = numbers(&arguments["value"]).map(|it| it as u8);
            erase(&mut result, width, area, Content::Colour(colour));
        }
        "augmix" => {
            let mut others = [image.to_vec(), image.to_vec(), image.to_vec()];
            flip_columns(&mut others[0], width);
            flip_rows(&mut others[1], width);
            Curves::invert().apply(&mut others[2]);
            let images = [image, &others[0], &others[1], &others[2]];
            let weights: [f64; 4] = numbers(&arguments["weights"]);
            let weighted = std::array::from_fn::<_, 4, _>(|at| (images[at], weights[at] as f32));
            weighted_sum(&weighted, &mut result);
        }
        _ => return warped(operation, image, size, case),
    }
    (result, size)
}

fn warped(operation: &str, image: &[Pixel], size: Size, case: &Value) -> (Vec<Pixel>, Size) {
    let arguments = &case["args"];
    let number = |name: &str| arguments[name].as_f64().unwrap();
    let center = arguments["center"].is_array().then(|| numbers(&arguments["center"]));
    let warp = match operation {
        "rotate" => {
            let expand = arguments["expand"].as_bool().unwrap();
            Warp::rotation(size, number("angle"), expand, center)
        }
        "affine" => {
            let [translate, shear] = ["translate", "shear"].map(|name| numbers(&arguments[name]));
            let (angle, scale) = (number("angle"), number("scale"));
            Warp::affine(size, &Affine { angle, translate, scale, shear, center })
        }
        "perspective" => {
            let [start, end] = ["startpoints", "endpoints"]
                .map(|name| std::array::from_fn(|corner| numbers(&arguments[name][corner])));
            Warp::perspective(size, perspective_coefficients(start, end).unwrap())
        }
        _ => panic!("{operation}"),
    };
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    let points = [[0.0, 0.0], [width / 3.0, height / 2.0], [width, height]];
    for (at, point) in points.into_iter().enumerate() {
        let [to, expected] = [warp.forward().point(point), numbers(&case["points"][at])];
        let is_near =
            |axis: usize| (to[axis] - expected[axis]).abs() < 1e-3 * (1.0 + expected[axis].abs());
        assert!(is_near(0) && is_near(1), "{to:?} {case}");
    }

    let (out_width, out_height) = warp.output_size();
    let n_pixels = out_width as usize * out_height as usize;
    let mut result = vec![[1, 2, 3]; n_pixels];
    let fill = arguments["fill"].is_array().then(|| numbers(&arguments["fill"]).map(|it| it as u8));
    if arguments["mode"] == "bilinear" {
        warp.bilinear(image, &mut result, fill);
    } else {
        let fill = fill.unwrap_or_default();
        warp.nearest(image, &mut result, fill);
        // Masks are shown alike.
        let mask: Vec<u16> = image.iter().map(|pixel| u16::from(pixel[0]) * 257).collect();
        let mut to = vec![0; n_pixels];
        warp.nearest(&mask, &mut to, u16::from(fill[0]) * 257);
        assert!(to.iter().zip(&result).all(|(to, pixel)| *to == u16::from(pixel[0]) * 257));
    }
    (result, warp.output_size())
}

fn cropped(
    image: &[Pixel],
    size: Size,
    corner: (i32, i32),
    to_size: Size,
    padding: Padding<Pixel>,
) -> (Vec<Pixel>, Size) {
    let mut result = vec![[1, 2, 3]; to_size.0 as usize * to_size.1 as usize];
    crop(image, size, corner, &mut result, to_size.0, padding);
    (result, to_size)
}

/// Returns the images of `make.py`.
fn make_image(number: u64, (width, height): Size) -> Vec<Pixel> {
    let level = |at: u32| {
        let noise = (splitmix(u64::from(at) + (number << 32)) >> 56) as u32;
        let (channel, x, y) = (at % 3, at / 3 % width, at / 3 / width);
        (match number % 3 {
            0 => noise,
            1 => x * 5 + y * 3 + channel * 40 + noise / 16,
            _ => 60 + noise % 50 + 20 * channel,
        }) as u8
    };
    let levels: Vec<u8> = (0..width * height * 3).map(level).collect();
    levels.as_chunks().0.to_vec()
}

fn splitmix(number: u64) -> u64 {
    fdconvert_core::mix((number + 1).wrapping_mul(fdconvert_core::GOLDEN))
}

fn fnv(levels: &[u8]) -> u64 {
    levels.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &level| {
        (hash ^ u64::from(level)).wrapping_mul(0x100_0000_01b3)
    })
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    std::array::from_fn(|at| value[at].as_f64().unwrap())
}

fn size_of(value: &Value) -> Size {
    let [width, height] = numbers(value).map(|it| it as u32);
    (width, height)
}

#[test]
fn colours_and_noise_stay_in_their_rectangle() {
    let image = make_image(0, (9, 7));
    let mut result = image.clone();
    // Two rows and a column are outside.
    erase(&mut result, 9, (6, 4, 4, 5), Content::Colour([1, 2, 3]));
    for (at, (pixel, before)) in result.iter().zip(&image).enumerate() {
        let (x, y) = (at % 9, at / 9);
        let is_inside = x >= 6 && y >= 4;
        assert_eq!(pixel, if is_inside { &[1, 2, 3] } else { before });
    }
    let noise = Noise::new([1000.0, -1000.0, 30.0], [1.0, 1.0, 0.0]);
    let random = &mut fdconvert_core::KeyedRandom::new(&[2]);
    erase(&mut result, 9, (2, 1, 3, 2), Content::Noise(&noise, random));
    assert_eq!(result.iter().filter(|pixel| **pixel == [255, 0, 30]).count(), 6);
    assert_eq!((result[9 + 1], result[9 + 2]), (image[9 + 1], [255, 0, 30]));
}

#[test]
fn reflections_are_reflected_again() {
    let row = [1_u8, 2, 3];
    let shown = |padding| {
        let mut to = [0; 13];
        crop(&row, (3, 1), (-5, 0), &mut to, 13, padding);
        to
    };
    assert_eq!(shown(Padding::Reflect), [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2]);
    assert_eq!(shown(Padding::Symmetric), [2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2]);
    assert_eq!(shown(Padding::Edge), [1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3]);
    assert_eq!(shown(Padding::Constant(9)), [9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 9, 9]);
    // A kernel that reaches far beyond a single pixel.
    let mut to = [[0; 3]];
    let kernel = Gauss::new(9, 2.0);
    gaussian_blur(&[[7, 8, 9]], (1, 1), &mut to, [&kernel; 2], &mut BlurRows::default());
    assert_eq!(to, [[7, 8, 9]]);
}

#[test]
fn a_mask_of_bytes_turns_like_its_image() {
    let image = make_image(1, (8, 5));
    let mask: Vec<u8> = image.iter().map(|pixel| pixel[1]).collect();
    let warp = Warp::rotation((8, 5), 33.0, true, None);
    let (width, height) = warp.output_size();
    let mut shown = vec![[0; 3]; (width * height) as usize];
    let mut shown_mask = vec![0; shown.len()];
    warp.nearest(&image, &mut shown, [4, 5, 6]);
    warp.nearest(&mask, &mut shown_mask, 5);
    assert!(shown.iter().zip(shown_mask).all(|(pixel, level)| pixel[1] == level));
}

#[test]
fn thresholds_are_compared_in_single_precision() {
    // 255 - 17 of RandAugment, as a sum of single-precision numbers.
    assert_eq!(first_level(238.000_001_013_278_96), 238);
    assert_eq!(first_level(238.000_1), 239);
    assert_eq!((first_level(0.0), first_level(255.5), first_level(1e9)), (0, 256, 256));
}
