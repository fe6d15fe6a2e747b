/// An image of the sampler `lanes64-v1` before it is drawn: all numbers that determine its pixels,
/// so that a GPU, for example, can draw it.
///
/// `fdconvert-fractal` defines the sampler. It draws points on a square bitmap, or patches of coin
/// tosses in place of the points if `patches` is set. The image is the bitmap after flipping, with
/// one gray level for set bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanesImage {
    /// Parameter `k` of the map in slot `j` is `[k][j]`.
    pub parameters: [[f32; 8]; 6],
    /// The threshold and alias of each slot.
    pub words: [u32; 8],
    /// The words of the image's key.
    pub key: (u32, u32),
    /// Columns and rows.
    pub side: u32,
    /// Empty pixels on every side.
    pub pad: u32,
    /// Number of points.
    pub points: u32,
    /// True if points become patches.
    pub patches: bool,
    /// Minimum number of covered pixels. An image with fewer is drawn again with other numbers,
    /// which only the dataset knows.
    pub least: u32,
    /// True if the image is the bitmap flipped left to right.
    pub mirror: bool,
    /// True if the image is the bitmap flipped top to bottom.
    pub turn: bool,
    /// Gray level of set pixels; others are 0.
    pub level: u8,
}
