//! Which image the coordinates of annotations are of: the upright one, or the one that is stored.
//!
//! Photos are often stored lying, and an EXIF orientation says how to turn them. Some tools
//! annotate what they show, some what is stored; the size that an annotation states tells which,
//! wherever turning exchanges width and height. What is packed is of the upright image.
use crate::folder::BoxFrame;
use fdconvert_core::{ImageHeader, Message, RunLengths, message, named};
use std::{collections::BTreeSet, sync::Mutex};

/// Pixels of a mask that is turned.
const MAX_MASK_PIXELS: u64 = 1 << 28;
/// Parts of a pixel that turned coordinates are rounded to, so that a difference of two decimal
/// numbers is one, too.
const PER_PIXEL: f64 = 1_000_000.0;

/// The first image of a sample, by its header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Photo {
    /// Width and height as stored.
    pub(crate) stored: [u32; 2],
    pub(crate) orientation: u8,
    /// What the user says of all annotations.
    pub(crate) boxes: Option<BoxFrame>,
}

/// Something about the annotations of a sample that its user should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// They were of the stored image, and were turned with it.
    Turned,
    /// The photo is turned, and the size that they state does not tell of which frame they are.
    Unclear,
    /// They are of another size of the same shape.
    Scaled,
}

/// Samples with something to tell, each counted once however often it is read.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<[BTreeSet<u64>; 3]>);

/// What coordinates are pixels of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    /// Width and height of the upright image in these pixels.
    pub(super) size: [u64; 2],
    /// What becomes of coordinates; `None` where they are of the upright image already.
    pub(super) turn: Option<Turn>,
    pub(super) notice: Option<Notice>,
}

/// Turns coordinates upright.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turn {
    /// Width and height before.
    size: [u64; 2],
    orientation: u8,
}

impl Photo {
    pub(crate) fn new(header: &ImageHeader, boxes: Option<BoxFrame>) -> Self {
        let stored = [header.width, header.height];
        Self { stored, orientation: header.orientation, boxes }
    }

    /// Width and height of the upright image.
    pub(crate) fn upright(self) -> [u32; 2] {
        let [width, height] = self.stored;
        if self.orientation >= 5 { [height, width] } else { [width, height] }
    }

    /// Returns what coordinates are of, by the size that their annotation states. The error is the
    /// end of a sentence about it.
    pub(super) fn frame(self, stated: Option<[u64; 2]>) -> Result<Frame, String> {
        let (stored, upright) = (self.stored.map(u64::from), self.upright().map(u64::from));
        let stated = stated.unwrap_or(match self.boxes {
            Some(BoxFrame::Stored) => stored,
            _ => upright,
        });
        let fits = [(upright, false), (stored, true)];
        let exact = fits.iter().find(|(size, _)| *size == stated);
        let similar = || fits.iter().find(|(size, _)| has_shape_of(*size, stated));
        let Some((_, is_stored)) = exact.or_else(similar) else {
            let ([wide, high], [width, height]) = (stated, upright);
            let turned = match self.orientation {
                0 | 1 => String::new(),
                _ => format!(" ({}x{} before EXIF turns it)", stored[0], stored[1]),
            };
            return Err(format!(
                "{wide}x{high} pixels, and the image has {width}x{height}{turned}"
            ));
        };
        let is_turned = self.orientation > 1;
        // Where both frames have one size it tells neither.
        let is_unclear = is_turned && stored == upright && self.boxes.is_none();
        let is_stored_frame = match self.boxes {
            _ if !is_turned => false,
            Some(boxes) => boxes == BoxFrame::Stored,
            None => *is_stored,
        };
        let swapped = if self.orientation >= 5 { [stated[1], stated[0]] } else { stated };
        let size = if *is_stored { swapped } else { stated };
        let before = if self.orientation >= 5 { [size[1], size[0]] } else { size };
        let turn = Turn { size: before, orientation: self.orientation };
        let notice = match (is_stored_frame, is_unclear, exact) {
            (true, ..) => Some(Notice::Turned),
            (_, true, _) => Some(Notice::Unclear),
            (_, _, None) => Some(Notice::Scaled),
            _ => None,
        };
        Ok(Frame { size, turn: is_stored_frame.then_some(turn), notice })
    }
}

/// Returns whether one is the other, made larger or smaller and rounded to whole pixels.
fn has_shape_of([width, height]: [u64; 2], [wide, high]: [u64; 2]) -> bool {
    let differs = |side: u64, of: u64, to: u64, other: u64| {
        (of as f64 * other as f64 / to as f64 - side as f64).abs()
    };
    differs(height, high, wide, width) <= 1.0 || differs(width, wide, high, height) <= 1.0
}

impl Turn {
    fn turned(self, [x, y]: [f64; 2], [right, bottom]: [f64; 2]) -> [f64; 2] {
        let turned = match self.orientation {
            2 => [right - x, y],
            3 => [right - x, bottom - y],
            4 => [x, bottom - y],
            5 => [y, x],
            6 => [bottom - y, x],
            7 => [bottom - y, right - x],
            8 => [y, right - x],
            _ => [x, y],
        };
        turned.map(|it| (it * PER_PIXEL).round() / PER_PIXEL)
    }

    /// Width and height before.
    pub(super) fn before(self) -> [f64; 2] {
        self.size.map(|side| side as f64)
    }

    /// A point between pixels: those are counted from the edge of the image.
    pub(super) fn point(self, point: [f64; 2]) -> [f64; 2] {
        self.turned(point, self.before())
    }

    /// A keypoint, which is the number of a pixel, as in COCO's own files.
    pub(super) fn pixel(self, point: [f64; 2]) -> [f64; 2] {
        self.turned(point, self.size.map(|side| side as f64 - 1.0))
    }

    /// Left, top, width and height of a box.
    pub(super) fn bbox(self, [left, top, width, height]: [f64; 4]) -> [f64; 4] {
        let [a, b] = self.point([left, top]);
        let [c, d] = self.point([left + width, top + height]);
        let sides = [(c - a).abs(), (d - b).abs()];
        let [width, height] = sides.map(|it| (it * PER_PIXEL).round() / PER_PIXEL);
        [a.min(c), b.min(d), width, height]
    }

    /// Height and width of a mask, and its runs.
    pub(super) fn run_lengths(self, mask: &RunLengths) -> Result<([u64; 2], Vec<u64>), String> {
        let [height, width] = mask.size().map(u64::from);
        if [width, height] != self.size {
            let [wide, high] = self.size;
            return Err(format!(
                "its mask is of {width}x{height} pixels, and the image has {wide}x{high}"
            ));
        }
        let n_pixels = width.saturating_mul(height);
        if n_pixels > MAX_MASK_PIXELS {
            return Err(format!("its mask of {width}x{height} pixels is too large to be turned"));
        }
        let mut pixels = Vec::with_capacity(usize::try_from(n_pixels).unwrap_or(0));
        for (at, run) in mask.counts().iter().enumerate() {
            pixels.resize(pixels.len() + *run as usize, at % 2 == 1);
        }
        let [new_width, new_height] =
            if self.orientation >= 5 { [height, width] } else { [width, height] };
        // From a pixel that is shown back to the one that is stored.
        let back = Self {
            size: [new_width, new_height],
            orientation: match self.orientation {
                6 => 8,
                8 => 6,
                other => other,
            },
        };
        let mut runs = vec![0_u64];
        let mut inside = false;
        for x in 0..new_width {
            for y in 0..new_height {
                let [column, row] = back.pixel([x as f64, y as f64]);
                let at = column as u64 * height + row as u64;
                let is = usize::try_from(at).ok().and_then(|at| pixels.get(at)).copied();
                if is.unwrap_or_default() != inside {
                    inside = !inside;
                    runs.push(0);
                }
                if let Some(last) = runs.last_mut() {
                    *last += 1;
                }
            }
        }
        Ok(([new_height, new_width], runs))
    }
}

impl Notices {
    /// Counts a sample.
    pub(crate) fn add(&self, sample: u64, notice: Notice) {
        if let Ok(mut sets) = self.0.lock() {
            let [turned, unclear, scaled] = &mut *sets;
            match notice {
                Notice::Turned => turned.insert(sample),
                Notice::Unclear => unclear.insert(sample),
                Notice::Scaled => scaled.insert(sample),
            };
        }
    }

    /// What there is to tell, in sentences.
    pub(crate) fn remarks(&self) -> Vec<Message> {
        let counts = self.0.lock().map(|sets| sets.each_ref().map(BTreeSet::len));
        let [turned, unclear, scaled] = counts.unwrap_or_default();
        let photos = |n: usize| match n {
            1 => "1 photo".to_owned(),
            n => format!("{n} photos"),
        };
        let mut remarks = Vec::new();
        if turned > 0 {
            remarks.push(message!(
                "annotations of {} were of the image as it is stored, and were turned upright with \
                 it",
                photos(turned)
            ));
        }
        if unclear > 0 {
            remarks.push(message!(
                "annotations of {} may be of the stored image or of the one that EXIF turns, both of \
                 one size: they are taken as of the upright one; {} takes them as of the other",
                photos(unclear),
                named::BOXES.with("stored")
            ));
        }
        if scaled > 0 {
            remarks.push(message!(
                "annotations of {} are of another size of the image, which `size` in its objects \
                 tells",
                photos(scaled)
            ));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::StoredRunLengths;

    fn photo(orientation: u8) -> Photo {
        Photo { stored: [200, 100], orientation, boxes: None }
    }

    #[test]
    fn boxes_of_turned_photos_follow_the_size_that_they_state() {
        let frame = |orientation, stated| photo(orientation).frame(stated).unwrap();
        let as_is = Frame { size: [100, 200], turn: None, notice: None };
        assert_eq!(frame(6, Some([100, 200])), as_is);
        assert_eq!(frame(6, None), as_is);
        let turned = frame(6, Some([200, 100]));
        assert_eq!((turned.size, turned.notice), ([100, 200], Some(Notice::Turned)));
        assert_eq!(turned.turn.unwrap().bbox([40.0, 20.0, 80.0, 20.0]), [60.0, 40.0, 20.0, 80.0]);
        assert_eq!(frame(3, Some([200, 100])).notice, Some(Notice::Unclear));
        assert_eq!(frame(1, Some([400, 200])).notice, Some(Notice::Scaled));
        assert_eq!(frame(8, Some([400, 200])).size, [200, 400]);
        assert!(photo(1).frame(Some([100, 200])).unwrap_err().contains("has 200x100"));
        let said = photo(6).frame(Some([300, 200])).unwrap_err();
        assert_eq!(
            said,
            "300x200 pixels, and the image has 100x200 (200x100 before EXIF turns it)"
        );
        let stored = Photo { boxes: Some(BoxFrame::Stored), ..photo(3) };
        let turn = stored.frame(None).unwrap().turn.unwrap();
        assert_eq!(turn.bbox([0.0, 0.0, 10.0, 20.0]), [190.0, 80.0, 10.0, 20.0]);
        let upright = Photo { boxes: Some(BoxFrame::Upright), ..photo(6) };
        assert_eq!(upright.frame(Some([200, 100])).unwrap(), as_is);
    }

    /// Each orientation, against pixels that are turned one by one.
    #[test]
    fn points_and_masks_are_turned_alike() {
        let text = r#"{"size": [2, 3], "counts": [1, 1, 2, 1, 1]}"#;
        let stored: StoredRunLengths = serde_json::from_str(text).unwrap();
        let mask = stored.decode().unwrap();
        // Inside are the pixels (0, 1) and (2, 0) of 3x2.
        for (orientation, inside) in [
            (2, [(2.0, 1.0), (0.0, 0.0)]),
            (3, [(2.0, 0.0), (0.0, 1.0)]),
            (4, [(0.0, 0.0), (2.0, 1.0)]),
            (5, [(1.0, 0.0), (0.0, 2.0)]),
            (6, [(0.0, 0.0), (1.0, 2.0)]),
            (7, [(0.0, 2.0), (1.0, 0.0)]),
            (8, [(1.0, 2.0), (0.0, 0.0)]),
        ] {
            let turn = Turn { size: [3, 2], orientation };
            let found = [[0.0, 1.0], [2.0, 0.0]].map(|it| turn.pixel(it)).map(|[x, y]| (x, y));
            assert_eq!(found, inside, "{orientation}");
            let ([height, _], runs) = turn.run_lengths(&mask).unwrap();
            let mut at = 0;
            let mut pixels = Vec::new();
            for (number, run) in runs.iter().enumerate() {
                for _ in 0..*run {
                    if number % 2 == 1 {
                        pixels.push(((at / height) as f64, (at % height) as f64));
                    }
                    at += 1;
                }
            }
            let mut expected = inside.to_vec();
            expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
            assert_eq!((at, pixels), (6, expected), "{orientation}");
        }
    }
}
