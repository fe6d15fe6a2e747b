//! Pixels of two gray levels: one bit per pixel if they become a PNG, or the BMP of a mixture, else
//! like any other pixels.

use super::{
    Gray, Nanos, Outcome, Policy, Worker,
    seat::{Goal, Shape},
    worker::timed,
};
use crate::{Notes, bilevel::Form, claim::claim_bilevel};
use fdconvert_core::{Bilevel, Codec, Color, Format, ImageHeader, Pixels, Result};

impl Policy {
    /// Applies the policy to a two-level image.
    ///
    /// In every case where other pixels become PNG, these become a 1-bit PNG, except when resized,
    /// which makes more than two levels.
    pub(super) fn apply_bilevel(
        &self,
        key: &str,
        image: &Bilevel,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        let source = claim_bilevel(key, image, &self.limits)?;
        let (width, height) = (image.width, image.height);
        let resize = self.target(&source) != (width, height);
        let form = if resize { None } else { self.form(image, format) };
        let mut nanos = Nanos::default();
        if let Some(form) = form {
            let goal = self.goal(key, None, resize, format)?;
            let shape = Shape { width, height, channels: 1, color: Color::Gray };
            if self.seat(key, goal, shape, format)?.codec == Codec::Png {
                return encode(key, image, form, nanos, worker);
            }
        }
        let mut data = worker.take();
        timed(&mut nanos.decode, || image.expand_into(&mut data));
        let pixels = Pixels { width, height, channels: 1, data };
        let mut outcome = self.apply_pixels(key, pixels, format, nanos, worker)?;
        match (outcome.encoded.codec, form) {
            // `Encode::Smart` has tried JPEG and found it too large.
            (Codec::Png, Some(form)) => encode(key, image, form, outcome.nanos, worker),
            (codec, _) => {
                outcome.notes |= Notes::BILEVEL_JPEG.when(codec == Codec::Jpeg);
                Ok(outcome)
            }
        }
    }

    /// Stores such an image as the 1-bit BMP of a [`Mixture`](super::Mixture). With BMP and no
    /// mixture it is like other gray pixels, so that existing outputs do not change. The image has
    /// already been checked.
    pub(super) fn apply_bilevel_as_bmp(
        &self,
        key: &str,
        image: &Bilevel,
        format: &dyn Format,
        worker: &mut Worker,
    ) -> Result<Outcome> {
        // The entries of a palette are colours.
        let (width, height) = (image.width, image.height);
        let shape = Shape { width, height, channels: 3, color: Color::Rgb };
        self.seat(key, Goal::Exact(Codec::Bmp), shape, format)?;
        let mut nanos = Nanos::default();
        let encoder = &mut worker.encoder;
        let encoded = timed(&mut nanos.encode, || encoder.bilevel_bmp(key, image))?;
        Ok(Outcome { encoded, notes: Notes::MADE, nanos })
    }

    /// Returns the form of a 1-bit PNG with exactly these levels; `None` if the format cannot hold
    /// it.
    ///
    /// One bit of gray means black or white, so other levels need a palette. A palette's entries
    /// are RGB: [`Gray::Expand`] has nothing to add to it, and [`Gray::Keep`] gives up the single
    /// channel for it, because eight bits of gray take five times the bytes.
    fn form(&self, image: &Bilevel, format: &dyn Format) -> Option<Form> {
        let holds = |color, bits| {
            let blank = ImageHeader::raw(image.width, image.height, 3);
            format.holds(&ImageHeader { codec: Codec::Png, color, bits, ..blank })
        };
        let black_and_white = image.levels == [0, 255] && self.gray == Gray::Keep;
        if black_and_white && holds(Color::Gray, 1) {
            Some(Form::Gray)
        } else {
            // The entries of a palette have eight bits, whatever the size of the index.
            holds(Color::Rgb, 8).then_some(Form::Palette)
        }
    }
}

fn encode(
    key: &str,
    image: &Bilevel,
    form: Form,
    mut nanos: Nanos,
    worker: &mut Worker,
) -> Result<Outcome> {
    let encoder = &mut worker.encoder;
    let encoded = timed(&mut nanos.encode, || encoder.bilevel_png(key, image, form))?;
    Ok(Outcome { encoded, notes: Notes::MADE, nanos })
}
