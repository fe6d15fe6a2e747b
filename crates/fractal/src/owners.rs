/// Which point each pixel shows: for the draws in colour, where the hue follows the number of the
/// point that came last. Rows lie as in [`Bitmap`](crate::Bitmap), y upwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Row-major: 0 where no point fell, else 1 + the number of the last point there.
    pub ordinals: Vec<u32>,
}
