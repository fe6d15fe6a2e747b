//! The reference image of annotation coordinates: the upright one, or the stored one.
//!
//! Photos are often stored sideways, with an EXIF orientation to turn them. Some tools annotate the
//! image as shown, others as stored; if turning swaps width and height, the size stated in an
//! annotation tells which. Packed annotations always refer to the upright image.
use super::lists::around;
use crate::folder::BoxFrame;
use fdconvert_core::{ImageHeader, Remark, Turn, option};
use std::{collections::BTreeSet, sync::Mutex};

/// Boxes may exceed the image by this share of its side and still belong to it.
const OUTSIDE: f64 = 0.01;

/// The first image of a sample, from its header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Photo {
    /// Width and height as stored.
    pub(crate) stored: [u32; 2],
    pub(crate) orientation: u8,
    /// The user's choice for all annotations.
    pub(crate) boxes: Option<BoxFrame>,
}

/// Remarkable property of a sample's annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// They referred to the stored image, and were turned with it.
    Turned,
    /// The photo is turned, and the stated size does not tell which frame they refer to.
    Unclear,
    /// They refer to another size of the same shape.
    Scaled,
    /// A box is completely outside the image.
    Outside,
    /// Polygons look like keypoints.
    Keypoints,
}

/// Samples with notices, each counted once however often it is read.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<[BTreeSet<u64>; 5]>);

/// The image that coordinates refer to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    /// Width and height of the upright image in the same pixels.
    pub(super) size: [u64; 2],
    /// The turn to apply to coordinates; `None` if they already refer to the upright image.
    pub(super) turn: Option<Turn>,
    pub(super) notice: Option<Notice>,
}

/// Width or height as stated in annotations, in any notation; empty and 0 count as missing. The
/// error completes a sentence about them.
pub(crate) fn side(name: &str, text: &str) -> Result<Option<u64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let number = number.ok_or_else(|| {
        let shown: String = text.chars().take(20).collect();
        format!("its `{name}` is no number of pixels: `{shown}`")
    })?;
    Ok((number >= 1.0).then_some(number as u64))
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

    /// The frame of coordinates given as shares of width and height: they state no size, and refer
    /// to the upright image unless the user says otherwise.
    pub(super) fn frame_of_shares(self) -> Result<Frame, String> {
        match self.boxes {
            Some(_) => self.frame(None),
            None => {
                let size = self.upright().map(u64::from);
                Ok(Frame { size, turn: None, notice: None })
            }
        }
    }

    /// The frame of coordinates, from the stated size of their annotation. The error completes a
    /// sentence about it.
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
        // Ambiguous if both frames have the same size.
        let is_unclear = is_turned && stored == upright && self.boxes.is_none();
        let is_stored_frame = match self.boxes {
            _ if !is_turned => false,
            Some(boxes) => boxes == BoxFrame::Stored,
            None => *is_stored,
        };
        let swapped = if self.orientation >= 5 { [stated[1], stated[0]] } else { stated };
        let size = if *is_stored { swapped } else { stated };
        let before = if self.orientation >= 5 { [size[1], size[0]] } else { size };
        let turn = Turn::upright(before.map(|side| side as f64), self.orientation);
        let notice = match (is_stored_frame, is_unclear, exact) {
            (true, ..) => Some(Notice::Turned),
            (_, true, _) => Some(Notice::Unclear),
            (_, _, None) => Some(Notice::Scaled),
            _ => None,
        };
        Ok(Frame { size, turn: is_stored_frame.then_some(turn), notice })
    }
}

/// Returns true if one size is the other scaled and rounded to whole pixels.
fn has_shape_of([width, height]: [u64; 2], [wide, high]: [u64; 2]) -> bool {
    let differs = |side: u64, of: u64, to: u64, other: u64| {
        (of as f64 * other as f64 / to as f64 - side as f64).abs()
    };
    differs(height, high, wide, width) <= 1.0 || differs(width, wide, high, height) <= 1.0
}

impl Frame {
    /// Checks boxes with these corners (left upper and right lower ones alternate) and returns the
    /// notices.
    ///
    /// # Errors
    /// They only fit into the other frame of a photo, which contradicts the size stated or assumed.
    pub(super) fn check(&self, corners: &[[f64; 2]], photo: Photo) -> Result<Vec<Notice>, Remark> {
        let upright = self.size.map(|side| side as f64);
        let own = self.turn.map_or(upright, Turn::before);
        let is_outside = |corners: &&[[f64; 2]]| match **corners {
            [[left, top], [right, bottom]] => {
                let has_area = right > left && bottom > top;
                has_area && (right <= 0.0 || bottom <= 0.0 || left >= own[0] || top >= own[1])
            }
            _ => false,
        };
        let outside = corners.chunks(2).find(is_outside).map(|_| Notice::Outside);
        let notices = self.notice.into_iter().chain(outside).collect();
        let Some([left, top, width, height]) =
            around(corners.iter().copied()).filter(|_| photo.boxes.is_none())
        else {
            return Ok(notices);
        };
        let corner = [left + width, top + height];
        let other = match (self.turn, photo.orientation >= 5) {
            (_, false) => return Ok(notices),
            (Some(_), true) => upright,
            (None, true) => [upright[1], upright[0]],
        };
        // Boxes may exceed the edge a little.
        let fits = |sides: [f64; 2]| {
            corner.iter().zip(sides).all(|(at, side)| *at <= side + 1.0 + side * OUTSIDE)
        };
        if fits(own) || !fits(other) {
            return Ok(notices);
        }
        let (is, other) = match self.turn {
            Some(_) => ("as it is stored", "upright"),
            None => ("that EXIF turns upright", "stored"),
        };
        let what = format!("a box reaches out of the image {is}, and is in the {other} one");
        let purpose = "to take all annotations as those of that image";
        Err(Remark::from(what).cure(purpose, option::BOXES.with(other)))
    }
}

impl Notices {
    /// Counts a sample.
    pub(crate) fn add(&self, sample: u64, notice: Notice) {
        if let Ok(mut sets) = self.0.lock() {
            let [turned, unclear, scaled, outside, keypoints] = &mut *sets;
            match notice {
                Notice::Turned => turned.insert(sample),
                Notice::Unclear => unclear.insert(sample),
                Notice::Scaled => scaled.insert(sample),
                Notice::Outside => outside.insert(sample),
                Notice::Keypoints => keypoints.insert(sample),
            };
        }
    }

    /// The remarks, as sentences.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let counts = self.0.lock().map(|sets| sets.each_ref().map(BTreeSet::len));
        let [turned, unclear, scaled, outside, keypoints] = counts.unwrap_or_default();
        let photos = |n: usize| match n {
            1 => "1 photo".to_owned(),
            n => format!("{n} photos"),
        };
        let mut remarks = Vec::new();
        if turned > 0 {
            let remark = format!(
                "annotations of {} were of the image as it is stored, and were turned upright with \
                 it",
                photos(turned)
            );
            remarks.push(remark.into());
        }
        if unclear > 0 {
            let what = format!(
                "annotations of {} may be of the stored image or of the one that EXIF turns, both of \
                 one size: they are taken as of the upright one",
                photos(unclear)
            );
            let stored = option::BOXES.with("stored");
            remarks.push(Remark::from(what).cure("to take them as of the other", stored));
        }
        if scaled > 0 {
            remarks.push(
                format!(
                    "annotations of {} are for another size of the image, given by `size` in its \
                 objects",
                    photos(scaled)
                )
                .into(),
            );
        }
        let images = |n: usize| match n {
            1 => "1 image".to_owned(),
            n => format!("{n} images"),
        };
        if outside > 0 {
            remarks.push(
                format!(
                    "boxes of {} are wholly outside of the image, and are kept as they are written",
                    images(outside)
                )
                .into(),
            );
        }
        if keypoints > 0 {
            let remark = format!(
                "lines of {} are taken as polygons, and may be boxes with keypoints: these need a \
                 data.yaml with `kpt_shape`",
                images(keypoints)
            );
            remarks.push(remark.into());
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
