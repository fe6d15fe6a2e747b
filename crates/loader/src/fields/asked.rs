use crate::follow::{MaskOptions, ObjectOptions};
use std::sync::Arc;

/// The requested fields of batches, and the options for making their rows.
pub(crate) struct Asked<'a> {
    pub(crate) fields: &'a [String],
    pub(crate) masks: &'a [MaskOptions],
    pub(crate) objects: Option<&'a ObjectOptions>,
    pub(crate) classes: Option<&'a Arc<[String]>>,
    /// Width and height of the images of the first views.
    pub(crate) size: (u32, u32),
}

impl Asked<'_> {
    /// Returns the names of all fields in batches besides images and labels.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = self.fields.to_vec();
        let objects = self.objects.map(|objects| &objects.field);
        for name in self.masks.iter().map(|mask| &mask.field).chain(objects) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}
