//! Names of samples without a name.
use crate::error::raise;
use fdconvert::{Pack, Schema};
use fdconvert_core::{Codec, Image, Value};
use pyo3::prelude::*;

/// Numbers of eight digits, with the extension of the sample's first image in the output.
pub(crate) struct Keys {
    /// Extensions by the codec of images, and of those made of pixels; empty for samples without an
    /// image.
    by_codec: Vec<(Option<Codec>, &'static str)>,
}

impl Keys {
    pub(crate) fn new(pack: &Pack, schema: &Schema) -> PyResult<Self> {
        if schema.first_image().is_none() {
            return Ok(Self { by_codec: Vec::new() });
        }
        let forms = Codec::ALL.into_iter().map(Some).chain([None]);
        let extensions = forms.map(|form| Ok((form, pack.likely_codec(form)?.extension())));
        let by_codec = extensions.collect::<fdconvert::Result<_>>();
        Ok(Self { by_codec: by_codec.map_err(|error| raise(&error))? })
    }

    /// Returns the extension of such a sample, with its dot.
    pub(crate) fn extension(&self, values: &[Value<Image>]) -> String {
        let codec = values.iter().find_map(|value| match value {
            Value::Image(Image::Encoded(image)) => Some(Some(image.codec)),
            Value::Image(_) => Some(None),
            _ => None,
        });
        let found = codec.and_then(|codec| self.by_codec.iter().find(|(of, _)| *of == codec));
        found.map(|(_, extension)| format!(".{extension}")).unwrap_or_default()
    }
}

/// Returns the name of sample `index`.
pub(crate) fn numbered(index: u64, extension: &str) -> String {
    format!("{index:08}{extension}")
}
