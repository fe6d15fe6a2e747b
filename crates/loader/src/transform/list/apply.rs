use super::{
    super::{
        geometry::Area,
        output::{Output, Tables},
        painter::Painter,
        plan::Region,
    },
    DrawKey, TransformList, fuse,
};
use fdconvert_core::{Error, Pixels, Result};

/// Applies lists to single images, as the loader does to those of its rows; one per thread, for its
/// buffers.
#[derive(Default)]
pub struct Transformer {
    painter: Painter,
}

impl Transformer {
    /// Returns the row of an image: RGB of this width and height, without padding. Mixing, which
    /// takes a batch, is left out.
    ///
    /// # Errors
    /// `Usage` if the image has other bytes than its size says, or is smaller than a crop.
    pub fn apply(
        &mut self,
        list: &TransformList,
        rgb: &[u8],
        (width, height): (u32, u32),
        key: DrawKey,
    ) -> Result<(Vec<u8>, Output)> {
        if rgb.is_empty() || rgb.len() as u64 != Pixels::byte_len(width, height, 3) {
            let what = format!("{} bytes are not an image of {width}x{height}", rgb.len());
            return Err(Error::usage("image", what));
        }
        if list.bands().is_some() {
            return Err(Error::usage("transform", "a loader reads Bands from files: RGB has none"));
        }
        let stages = fuse(list.draw((width, height), key)?, (width, height));
        let area = Area { x: 0, y: 0, width, height };
        let region = Region { pixels: rgb, area, channels: 3, denominator: 1 };
        let painted = self.painter.paint(&region, &stages);
        let (image, size) = painted.map_err(|what| Error::usage("image", what))?;
        let output = list.of_size(size);
        let mut row = vec![0; output.n_bytes()];
        Tables::new(&output).write(image, size.0 as usize, output.layout, false, &mut row);
        Ok((row, output))
    }
}
