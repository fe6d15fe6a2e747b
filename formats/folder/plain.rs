use crate::folder::{
    layout::{is_hidden, key_of_path},
    levels::Levels,
    masks,
    split_folders::folder,
};
use fdconvert_core::{Kind, Schema};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Tracks the written files and determines whether the tree of images alone is a complete
/// description: whether opening it as a folder of classes (or a flat folder) gives the same labels.
#[derive(Debug)]
pub(crate) struct Plain {
    possible: bool,
    has_label: bool,
    labels: BTreeMap<Vec<u8>, i64>,
    folders: BTreeSet<Vec<u8>>,
}

impl Plain {
    pub(crate) fn new(schema: &Schema) -> Self {
        let fields: Vec<_> = schema.fields.iter().map(|f| (f.name.as_str(), &f.kind)).collect();
        let has_label = fields == [("image", &Kind::Image), ("label", &Kind::Int)];
        let possible = has_label || fields == [("image", &Kind::Image)];
        Self { possible, has_label, labels: BTreeMap::new(), folders: BTreeSet::new() }
    }

    /// Records the path and label of a sample's image.
    pub(crate) fn note(&mut self, path: &[u8], label: Option<i64>) {
        let mut parts = path.split(|&byte| byte == b'/');
        if !self.possible || parts.clone().any(is_hidden) {
            self.possible = false;
            return;
        }
        let lies_in = folder(path);
        if !self.folders.contains(lies_in) {
            self.folders.insert(lies_in.to_vec());
        }
        let first = parts.next().filter(|first| first.len() < path.len());
        match (first, label) {
            (None, None) => {}
            (Some(first), Some(label)) if self.has_label => match self.labels.get(first) {
                Some(&known) => self.possible &= known == label,
                None => {
                    self.labels.insert(first.to_vec(), label);
                }
            },
            _ => self.possible = false,
        }
    }

    /// Returns true if the tree is a complete description.
    pub(crate) fn holds(&self, schema: &Schema) -> bool {
        let numbered = (0..).zip(self.labels.values()).all(|(number, &label)| number == label);
        let class_names = schema.fields.get(1).and_then(|field| field.class_names.as_deref());
        let named = class_names.is_none_or(|class_names| {
            self.labels.keys().map(|folder| key_of_path(folder)).eq(class_names.iter().cloned())
        });
        // Classes of some names would be read as splits, or not at all.
        let folders: BTreeSet<&[u8]> = self.folders.iter().map(Vec::as_slice).collect();
        let levels = Levels::of(Path::new(""), &folders, true);
        // File names may make the images of a folder look like masks of others.
        let are_masks = || folders.iter().any(|folder| masks::has_word(folder));
        let are_classes = levels.is_ok_and(|levels| levels.are_plain()) && !are_masks();
        self.possible && numbered && named && are_classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::FieldSpec;

    fn labelled(class_names: Option<&[&str]>, samples: &[(&str, i64)]) -> bool {
        let label = match class_names {
            Some(names) => {
                FieldSpec::label("label", names.iter().map(|&name| name.to_owned()).collect())
            }
            None => FieldSpec::new("label", Kind::Int),
        };
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image), label]).unwrap();
        let mut plain = Plain::new(&schema);
        for (path, label) in samples {
            plain.note(path.as_bytes(), Some(*label));
        }
        plain.holds(&schema)
    }

    #[test]
    fn class_folders_say_it_all_only_if_they_give_the_same_labels() {
        let two = [("b/x/1.jpg", 1), ("a/1.jpg", 0), ("b/2.jpg", 1)];
        assert!(labelled(Some(&["a", "b"]), &two));
        // These would be read as other classes, as none, or not at all.
        assert!(!labelled(None, &[("a/x/1.jpg", 0)]));
        assert!(!labelled(None, &[("images/1.jpg", 0)]));
        assert!(!labelled(None, &[("images/1.jpg", 0), ("masks/1.jpg", 1)]));
        assert!(labelled(None, &two));
        assert!(!labelled(Some(&["a", "b", "c"]), &two));
        assert!(!labelled(Some(&["a", "c"]), &two));
        assert!(!labelled(None, &[("a/1.jpg", 3)]));
        assert!(!labelled(None, &[("a/1.jpg", 0), ("a/2.jpg", 1)]));
        assert!(!labelled(None, &[("1.jpg", 0)]));
        assert!(!labelled(None, &[("a/.hidden/1.jpg", 0)]));
        // These would be read as splits.
        assert!(!labelled(None, &[("train/1.jpg", 0), ("val/1.jpg", 1)]));
        assert!(!labelled(None, &[("train/a/1.jpg", 0)]));
        assert!(labelled(None, &[("train/1.jpg", 0)]));
    }

    #[test]
    fn without_labels_only_a_flat_folder_does() {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        let holds = |paths: &[&str]| {
            let mut plain = Plain::new(&schema);
            paths.iter().for_each(|path| plain.note(path.as_bytes(), None));
            plain.holds(&schema)
        };
        assert!(holds(&["a.jpg", "b.jpg"]));
        assert!(!holds(&["a/a.jpg"]));
        assert!(!holds(&[".a.jpg"]));
    }
}
