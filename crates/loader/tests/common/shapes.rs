//! Samples with masks, further images and objects, and their stored values.
use fdconvert_core::{Codec, Encoded, FieldSpec, Kind, Reader, Sample, Schema, Value};
use fdconvert_formats::wds::Wds;
use fdconvert_loader::Transform;
use fdconvert_testkit::fixtures::{self, Random};
use png::{BitDepth, ColorType};
use std::{path::Path, sync::Arc};

pub(crate) const N_SAMPLES: u64 = 24;

fn encode(width: u32, height: u32, color: ColorType, depth: BitDepth, data: &[u8]) -> Encoded {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        // The colours do not reveal the indices.
        encoder.set_palette((0..256 * 3).map(|at| (at * 37 % 251) as u8).collect::<Vec<_>>());
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    Encoded::new(Codec::Png, width, height, bytes.into())
}

/// Encodes values of one channel, packed like PNG.
pub(crate) fn levels(
    size: (u32, u32),
    color: ColorType,
    depth: BitDepth,
    values: &[u16],
) -> Encoded {
    let bits = depth as usize;
    let mut data = Vec::new();
    for row in values.chunks(size.0 as usize) {
        match bits {
            16 => data.extend(row.iter().flat_map(|value| value.to_be_bytes())),
            _ => data.extend(row.chunks(8 / bits).map(|chunk| {
                let place = |(at, value): (usize, &u16)| (*value as u8) << (8 - bits * (at + 1));
                chunk.iter().enumerate().map(place).fold(0, |byte, bits| byte | bits)
            })),
        }
    }
    encode(size.0, size.1, color, depth, &data)
}

/// Stored values of a sample, for comparison.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) size: (u32, u32),
    pub(crate) mask: Vec<u16>,
    pub(crate) depth: Vec<u16>,
    pub(crate) view: Vec<u8>,
    pub(crate) objects: String,
}

const DEPTHS: [(ColorType, BitDepth); 6] = [
    (ColorType::Indexed, BitDepth::Eight),
    (ColorType::Grayscale, BitDepth::Eight),
    (ColorType::Indexed, BitDepth::One),
    (ColorType::Grayscale, BitDepth::One),
    (ColorType::Grayscale, BitDepth::Two),
    (ColorType::Indexed, BitDepth::Four),
];

pub(crate) fn stored(number: u64) -> (Stored, Vec<Value<Encoded>>) {
    let mut random = Random::new(number + 1);
    let size = (9 + random.below(60) as u32, 9 + random.below(60) as u32);
    let n_pixels = (size.0 * size.1) as usize;
    let (color, bits) = DEPTHS[number as usize % DEPTHS.len()];
    let mask: Vec<u16> = (0..n_pixels).map(|_| random.below(1 << (bits as u64)) as u16).collect();
    let depth: Vec<u16> = (0..n_pixels).map(|_| random.next_u64() as u16).collect();
    let view = fixtures::pixels(size.0, size.1, 3, number + 100).data;
    let objects = objects(&mut random, size, number);
    let values = vec![
        Value::Image(fixtures::png(size.0, size.1, number)),
        Value::Image(levels(size, color, bits, &mask)),
        Value::Image(levels(size, ColorType::Grayscale, BitDepth::Sixteen, &depth)),
        Value::Image(fixtures::png(size.0, size.1, number + 100)),
        Value::Json(objects.clone().into()),
        Value::Int(number as i64),
    ];
    (Stored { size, mask, depth, view, objects }, values)
}

/// Returns a document of a few objects; a third of the documents are for an image of another size.
fn objects(random: &mut Random, size: (u32, u32), number: u64) -> String {
    let n_objects = random.below(5);
    let mut lists: [Vec<String>; 5] = Default::default();
    for object in 0..n_objects {
        let mut at = |side: u32| random.below(u64::from(side) * 16) as f64 / 16.0;
        let (x, y) = (at(size.0), at(size.1));
        let (width, height) = (at(size.0), at(size.1));
        lists[0].push(format!("[{x},{y},{width},{height}]"));
        lists[1].push(format!("{object}"));
        lists[2].push(format!("{}", width * height));
        lists[3].push(format!("[[{x},{y},{},{y},{x},{}]]", x + width, y + height));
        lists[4].push(format!("[{x},{y},2,{},{},1]", at(size.0), at(size.1)));
    }
    let [boxes, category, area, polygons, keypoints] = lists.map(|list| list.join(","));
    let scaled = match number % 3 {
        0 => format!("\"size\":[{},{}],", size.0 * 2, size.1 * 3),
        _ => String::new(),
    };
    format!(
        "{{{scaled}\"bbox\":[{boxes}],\"category\":[{category}],\"area\":[{area}],\
         \"segmentation\":[{polygons}],\"keypoints\":[{keypoints}]}}"
    )
}

pub(crate) fn schema() -> Schema {
    let image = |name| FieldSpec::new(name, Kind::Image);
    let fields = vec![
        image("image"),
        image("mask"),
        image("depth"),
        image("view"),
        FieldSpec::new("objects", Kind::Json),
        FieldSpec::new("label", Kind::Int),
    ];
    Schema::new(fields).unwrap()
}

pub(crate) fn pack(
    out: &Path,
    rows: impl IntoIterator<Item = Vec<Value<Encoded>>>,
) -> Arc<dyn Reader> {
    let sample = |(number, values)| Sample { key: format!("{number:03}"), values };
    let samples: Vec<_> = rows.into_iter().enumerate().map(sample).collect();
    super::packed(&Wds::default(), out, &schema(), &samples)
}

pub(crate) fn dataset(out: &Path) -> (Arc<dyn Reader>, Vec<Stored>) {
    let (stored, values): (Vec<_>, Vec<_>) = (0..N_SAMPLES).map(stored).unzip();
    (pack(out, values), stored)
}

/// Returns lists that move pixels in every way, all with a flip, and rows of this height and width.
pub(crate) fn moving([height, width]: [u32; 2]) -> Vec<Vec<Transform>> {
    let size = format!("{{\"size\": [{height}, {width}]");
    let lists = [
        format!("[{{\"Resize\": {{\"size\": 23}}}}, {{\"CenterCrop\": {size}}}}}, FLIP]"),
        format!(
            "[{{\"RandomResizedCrop\": {size}, \"scale\": [0.1, 1.0], \"ratio\": [0.5, 2.0]}}}}, FLIP]"
        ),
        format!("[{{\"Resize\": {size}}}}}, FLIP]"),
        format!("[{{\"Letterbox\": {size}, \"fill\": [9, 8, 7]}}}}, FLIP]"),
        // An image that is too small, around which there is nothing.
        format!("[FLIP, {{\"CenterCrop\": {{\"size\": [50, 40]}}}}, {{\"Resize\": {size}}}}}]"),
        format!("[{MIRRORED}, FLIP, {{\"RandomCrop\": {size}, \"pad_if_needed\": true}}}}]"),
        format!(
            "[{{\"ScaleJitter\": {{\"target_size\": [30, 30], \"scale_range\": [0.5, 1.5]}}}}, {VERTICAL},
              {{\"RandomCrop\": {size}, \"padding\": [3, 2, 1, 4], \"pad_if_needed\": true}}}}, FLIP]"
        ),
        format!(
            "[{VERTICAL}, {{\"Pad\": {{\"padding\": [3, 1, 2, 5], \"padding_mode\": \"symmetric\"}}}},
              {{\"RandomRotation\": {{\"degrees\": [-60, 60], \"expand\": true}}}},
              {{\"Resize\": {size}}}}}, FLIP]"
        ),
        format!(
            "[FLIP, {{\"RandomResizedCrop\": {size}, \"scale\": [0.3, 1.0]}}}}, {AFFINE},
              {{\"ColorJitter\": {{\"brightness\": [0.5, 1.5]}}}}]"
        ),
        format!(
            "[{{\"RandomPerspective\": {{\"distortion_scale\": 0.4, \"p\": 0.8}}}}, {VERTICAL},
              {{\"Pad\": {{\"padding\": [2, 7, 4, 1]}}}}, FLIP, {{\"CenterCrop\": {size}}}}},
              {{\"RandomErasing\": {{\"p\": 1.0}}}}]"
        ),
        format!(
            "[FLIP, {{\"RandomRotation\": {{\"degrees\": [90, 90], \"expand\": true}}}},
              {{\"RandomRotation\": {{\"degrees\": [-9, 9], \"center\": [4, 7]}}}},
              {{\"RandomChoice\": {{\"transforms\": [{AFFINE}, {MIRRORED}]}}}},
              {{\"Letterbox\": {size}}}}}]"
        ),
    ];
    let flip = "{\"RandomHorizontalFlip\": {}}";
    lists.map(|json| serde_json::from_str(&json.replace("FLIP", flip)).unwrap()).to_vec()
}

const VERTICAL: &str = "{\"RandomVerticalFlip\": {}}";
const MIRRORED: &str = "{\"Pad\": {\"padding\": [5, 2, 4, 6], \"padding_mode\": \"reflect\"}}";
const AFFINE: &str = "{\"RandomAffine\": {\"degrees\": [-40, 40], \"translate\": [0.2, 0.1],                       \"scale\": [0.7, 1.4], \"shear\": [-15, 15, -5, 20]}}";
