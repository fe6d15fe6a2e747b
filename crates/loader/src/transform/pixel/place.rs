//! Pixels at other places: flips, quarter turns, crops and padding, of images and masks alike.
//! Exactly torchvision's, which agrees with Pillow here.

/// Mirrors left and right: `horizontal_flip`.
pub(crate) fn flip_columns<P>(image: &mut [P], width: u32) {
    image.chunks_exact_mut((width as usize).max(1)).for_each(<[P]>::reverse);
}

/// Mirrors top and bottom: `vertical_flip`.
pub(crate) fn flip_rows<P>(image: &mut [P], width: u32) {
    let mut rows = image.chunks_exact_mut((width as usize).max(1));
    while let (Some(above), Some(below)) = (rows.next(), rows.next_back()) {
        above.swap_with_slice(below);
    }
}

/// Turns an image counter-clockwise by quarters, from one slice to another; an odd number of
/// quarters exchanges width and height.
pub(crate) fn quarter_turns<P: Copy>(
    from: &[P],
    (width, height): (u32, u32),
    to: &mut [P],
    n: u32,
) {
    let (width, height) = (width as usize, height as usize);
    let (to_width, to_height) = if n.is_multiple_of(2) { (width, height) } else { (height, width) };
    for (y, row) in to.chunks_exact_mut(to_width.max(1)).take(to_height).enumerate() {
        for (x, to) in row.iter_mut().enumerate() {
            let (x, y) = match n % 4 {
                0 => (x, y),
                1 => (width - 1 - y, x),
                2 => (width - 1 - x, height - 1 - y),
                _ => (y, height - 1 - x),
            };
            if let Some(&pixel) = from.get(y * width + x) {
                *to = pixel;
            }
        }
    }
}

/// What pixels outside an image are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding<P> {
    /// All the same.
    Constant(P),
    /// The nearest pixel of the image.
    Edge,
    /// The image mirrored at the middle of its outermost pixels.
    Reflect,
    /// The image mirrored at its edge.
    Symmetric,
}

impl<P> Padding<P> {
    /// Returns the pixel, of `n` along an axis, that is shown at a position of the axis; `None` for
    /// a constant. Mirrored images are mirrored again, where torchvision refuses.
    pub(crate) fn source(&self, at: isize, n: usize) -> Option<usize> {
        let last = n.saturating_sub(1) as isize;
        if (0..=last).contains(&at) {
            return Some(at as usize);
        }
        match self {
            Self::Constant(_) => None,
            Self::Edge => Some(at.clamp(0, last) as usize),
            Self::Reflect => {
                let at = at.rem_euclid((2 * last).max(1));
                Some(at.min(2 * last - at) as usize)
            }
            Self::Symmetric => {
                let at = at.rem_euclid(2 * last + 2);
                Some(at.min(2 * last + 1 - at) as usize)
            }
        }
    }
}

/// Copies the rectangle of the output's size whose upper left corner is at (`left`, `top`): `crop`
/// with a constant 0, and `pad` with the corner outside the image. Of a rectangle that ends above
/// the image or left of it torchvision makes another size; here all of it is padding.
pub(crate) fn crop<P: Copy>(
    from: &[P],
    (width, height): (u32, u32),
    (left, top): (i32, i32),
    to: &mut [P],
    to_width: u32,
    padding: Padding<P>,
) {
    let (width, height, left, top) = (width as usize, height as usize, left as isize, top as isize);
    // Columns of the output before and up to the end of those inside the image.
    let to_width = to_width as usize;
    let start = left.saturating_neg().clamp(0, to_width as isize) as usize;
    let end = (width as isize - left).clamp(start as isize, to_width as isize) as usize;
    for (row, y) in to.chunks_exact_mut(to_width.max(1)).zip(top..) {
        let source = padding.source(y, height);
        let Some(from) = source.and_then(|y| from.get(y * width..(y + 1) * width)) else {
            if let Padding::Constant(pixel) = padding {
                row.fill(pixel);
            }
            continue;
        };
        let inner = start.saturating_add_signed(left);
        if let Some(inner) = from.get(inner..inner + (end - start)) {
            row[start..end].copy_from_slice(inner);
        }
        for x in (0..start).chain(end..to_width) {
            row[x] = match (padding, padding.source(x as isize + left, width)) {
                (Padding::Constant(pixel), _) => pixel,
                (_, x) => from[x.unwrap_or(0)],
            };
        }
    }
}
