/// An image of the sampler `lanes64-v1` before it is drawn: all numbers that its pixels follow
/// from, for those who draw it elsewhere, such as on a GPU.
///
/// The sampler is defined in `fdconvert-fractal`. Points are drawn on a square bitmap; where
/// `patches` says so, patches of coin tosses take the place of the points. The image is the bitmap
/// turned over, with one gray for its bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanesImage {
    /// Parameter `k` of the map in slot `j` is `[k][j]`.
    pub parameters: [[f32; 8]; 6],
    /// The threshold and alias of each slot.
    pub words: [u32; 8],
    /// The words of the image's key.
    pub key: (u32, u32),
    /// Columns, which are as many as the rows.
    pub side: u32,
    /// Free pixels on every side.
    pub pad: u32,
    /// Points of an image.
    pub points: u32,
    /// True if points become patches.
    pub patches: bool,
    /// Pixels that the points have to cover. An image with less is drawn with other numbers, which
    /// the dataset alone knows.
    pub least: u32,
    /// True if the image is the bitmap turned left to right.
    pub mirror: bool,
    /// True if it is the bitmap turned top to bottom.
    pub turn: bool,
    /// The gray of what is lit; all else is 0.
    pub level: u8,
}
