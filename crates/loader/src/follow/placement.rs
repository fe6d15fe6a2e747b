//! The placement of an image's pixels in their row.
use crate::transform::{Area, Crop, Geometry, Rect, resized};

/// Placement of the image of a sample in its row: `crop` is stretched over `area`, and then left
/// and right are exchanged if `flipped`. A point (x, y) of the image within the crop appears at
/// `(x - crop.x) * area.width / crop.width + area.x`, and likewise for y; if flipped, x counts from
/// the right edge of the row.
///
/// All zero in rows without a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RowGeometry {
    /// Width and height of the image, upright if the loader turns it.
    pub source: (u32, u32),
    /// Shown part of the image, in its pixels. Whole numbers except for [`Crop::Center`].
    pub crop: Rect,
    /// Part of the row that shows the crop, before the flip: the whole row except for
    /// [`Crop::Letterbox`].
    pub area: Area,
    /// Width and height of the row.
    pub size: (u32, u32),
    /// Whether left and right are exchanged.
    pub flipped: bool,
}

impl RowGeometry {
    /// Creates the placement of an image of size `source` in rows of size `size`.
    pub(crate) fn new(geometry: &Geometry, source: (u32, u32), size: (u32, u32)) -> Self {
        let area = geometry.area(size);
        Self { source, crop: geometry.rect, area, size, flipped: geometry.flip }
    }

    /// Maps a point of the image to the row before the flip.
    pub(crate) fn unflipped(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let Self { crop, area, .. } = self;
        [
            (x - crop.x) * f64::from(area.width) / crop.width + f64::from(area.x),
            (y - crop.y) * f64::from(area.height) / crop.height + f64::from(area.y),
        ]
    }
}

/// The image pixel for each pixel of a row: the nearest one to the left and above, like
/// torchvision's `NEAREST`.
#[derive(Debug, Default)]
pub(crate) struct Nearest {
    /// Column of the image for each column of the row, from the left of the row.
    columns: Vec<u32>,
    rows: Vec<u32>,
}

/// Marks pixels around the image.
const NOTHING: u32 = u32::MAX;

impl Nearest {
    /// Returns height and width of the row.
    pub(super) fn size(&self) -> [u32; 2] {
        [self.rows.len() as u32, self.columns.len() as u32]
    }

    /// Returns, for each column of a row, the column of a mask of that size, and the same for rows.
    /// A mask of another size than the image is first resized to the image's size.
    pub(super) fn lines(&self, source: (u32, u32), mask: (u32, u32)) -> [Vec<Option<u32>>; 2] {
        let lines = |places: &[u32], source: u32, mask: u32| {
            let axis = Axis::of_part(0.0, mask.into(), source);
            let of_mask = |place| if mask == source { place } else { axis.place(place) };
            let lines = places.iter().map(|place| (*place != NOTHING).then(|| of_mask(*place)));
            lines.collect()
        };
        [lines(&self.columns, source.0, mask.0), lines(&self.rows, source.1, mask.1)]
    }

    /// Computes the pixels for a row.
    pub(crate) fn set(&mut self, crop: Crop, row: &RowGeometry) {
        let RowGeometry { source, crop: rect, area, size, flipped } = *row;
        let [horizontal, vertical] = match crop {
            Crop::Center { resize } => {
                let whole = resized(resize.max(1), source);
                let fits = whole.0 >= f64::from(size.0) && whole.1 >= f64::from(size.1);
                [
                    Axis::of_whole(rect.x, rect.width, size.0, source.0, fits.then_some(whole.0)),
                    Axis::of_whole(rect.y, rect.height, size.1, source.1, fits.then_some(whole.1)),
                ]
            }
            _ => [
                Axis::of_part(rect.x, rect.width, area.width),
                Axis::of_part(rect.y, rect.height, area.height),
            ],
        };
        horizontal.places((area.x, area.width), size.0, &mut self.columns);
        vertical.places((area.y, area.height), size.1, &mut self.rows);
        if flipped {
            self.columns.reverse();
        }
    }

    /// Returns the pixels of a row, each of `N` bytes, of an image of that width; `fill` around the
    /// image.
    pub(crate) fn take<const N: usize>(&self, pixels: &[u8], width: u32, fill: [u8; N]) -> Vec<u8> {
        let (pixels, _) = pixels.as_chunks::<N>();
        let mut row_bytes = vec![0; self.columns.len() * self.rows.len() * N];
        let (out, _) = row_bytes.as_chunks_mut::<N>();
        let width = width as usize;
        for (out, row) in out.chunks_exact_mut(self.columns.len().max(1)).zip(&self.rows) {
            let begin = (*row as usize).saturating_mul(width);
            let from = pixels.get(begin..begin.saturating_add(width)).unwrap_or_default();
            for (out, column) in out.iter_mut().zip(&self.columns) {
                *out = from.get(*column as usize).copied().unwrap_or(fill);
            }
        }
        row_bytes
    }
}

/// One axis of torchvision's steps: a part of the image is resized, and the row shows the resized
/// pixels from an offset on.
struct Axis {
    from: f64,
    length: f64,
    resized: f64,
    offset: f64,
}

impl Axis {
    /// An axis of a part that is resized as a whole.
    fn of_part(at: f64, length: f64, size: u32) -> Self {
        Self { from: at, length, resized: size.into(), offset: 0.0 }
    }

    /// An axis of a whole image that is resized to a number of pixels and then cut. If these are
    /// too few, the part is enlarged, which torchvision does not do.
    fn of_whole(at: f64, length: f64, size: u32, source: u32, resized: Option<f64>) -> Self {
        let source = f64::from(source);
        let (resized, offset) = match resized {
            // A value computed from whole numbers becomes whole again.
            Some(resized) => (resized, (at * resized / source).round()),
            None => {
                let resized = source * f64::from(size) / length;
                (resized, at * resized / source)
            }
        };
        Self { from: 0.0, length: source, resized, offset }
    }

    /// Returns the place in the image for each place of a row, of which an area shows the image.
    fn places(&self, (begin, n_shown): (u32, u32), size: u32, places: &mut Vec<u32>) {
        places.clear();
        places.extend((0..size).map(|at| match at.checked_sub(begin) {
            Some(at) if at < n_shown => self.place(at),
            _ => NOTHING,
        }));
    }

    /// Returns the place in the image for a shown one.
    fn place(&self, at: u32) -> u32 {
        // In single precision, like torch: a product in double precision would be on the other side
        // of some integers.
        let scale = self.length as f32 / self.resized as f32;
        let last = (self.length as u32).saturating_sub(1);
        let place = ((at as f32 + self.offset as f32) * scale).floor() as u32;
        (self.from as u32).saturating_add(place.min(last))
    }
}
