//! Labels of several datasets: the choice of their fields and the numbering of their classes.
use super::Datasets;
use crate::{
    classes::{self, Renumbered},
    fields::{Asked, listed},
};
use fdconvert_core::{Error, FieldSpec, Kind, Reader, Result};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Choice of the field that labels rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Label {
    /// Label of each dataset: its first field of integers with class names, else the field of
    /// integers called `label`. A dataset without one is refused.
    #[default]
    Auto,
    /// Field of that name, of any kind except images. Every dataset must have it in the same kind.
    /// See [`Batch::label_column`](crate::Batch::label_column) for fields that are not integers.
    Field(String),
    /// No labels in batches.
    None,
}

impl Label {
    pub(crate) fn fingerprint(&self) -> u64 {
        match self {
            Self::Auto => 0,
            Self::Field(name) => xxh3_64(name.as_bytes()),
            Self::None => 1,
        }
    }
}

impl Datasets {
    /// Chooses the integer labels of the datasets; for another kind returns the name of the field,
    /// which is then a column.
    pub(super) fn choose_labels<'a>(&mut self, label: &'a Label) -> Result<Option<&'a String>> {
        let mut ints = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let schema = part.reader.schema();
            let field = match label {
                Label::None => return Ok(None),
                Label::Auto => schema.label(),
                Label::Field(name) => schema.position(name),
            };
            let field = field.and_then(|field| Some((field, schema.fields.get(field)?)));
            match (field, label) {
                (Some((field, spec)), _) if spec.kind == Kind::Int => ints.push(field),
                (Some((_, spec)), Label::Field(_)) if !is_of_images(spec) => {}
                _ => return Err(no_label(&*part.reader, label)),
            }
        }
        match label {
            // Either fields of different kinds, which a later comparison refuses, or of one other
            // kind.
            Label::Field(name) if ints.len() < self.parts.len() => Ok(Some(name)),
            _ => {
                for (part, field) in self.parts.iter_mut().zip(ints) {
                    part.label = Some(field);
                }
                Ok(None)
            }
        }
    }

    /// Numbers the classes of all labels together.
    pub(super) fn number_labels(&mut self, asked: &Asked<'_>) -> Result<()> {
        let wanted = asked.classes;
        if let Some(names) = wanted
            && self.labels().next().is_none()
        {
            if asked.objects.is_none() {
                let what = "it numbers labels and objects, and batches have none that are classes";
                return Err(Error::usage("classes", what));
            }
            self.class_names = Some(names.clone());
            return Ok(());
        }
        let (names, numbers) = classes::join("label", self.labels(), wanted)?;
        self.class_names = names;
        for (part, numbers) in self.parts.iter_mut().zip(numbers) {
            part.label_numbers = numbers;
        }
        Ok(())
    }

    /// Yields the datasets with integer labels, and these fields.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&dyn Reader, &FieldSpec)> + Clone {
        self.parts.iter().filter_map(|part| {
            let field = part.reader.schema().fields.get(part.label?)?;
            Some((&*part.reader, field))
        })
    }

    /// Returns the class names of the label numbers, in order. Several datasets share one list:
    /// their common one, or all names in sorted order if they differ. `None` without labels, for
    /// labels that are not integers, and for numbers without names; with objects always the
    /// [`classes`](crate::Options::classes).
    #[must_use]
    pub fn class_names(&self) -> Option<&Arc<[String]>> {
        self.class_names.as_ref()
    }

    /// Returns a value that differs between class numberings, for kept samples; 0 for the numbering
    /// of the datasets.
    pub(crate) fn numbering(&self) -> u64 {
        let fields = self.parts.iter().flat_map(|part| part.fields.iter());
        let labels = self.parts.iter().map(|part| &part.label_numbers);
        let all: Vec<_> = labels.chain(fields.map(|(_, numbers)| numbers)).collect();
        if all.iter().all(|numbers| numbers.is_none()) {
            return 0;
        }
        let mut hash = Xxh3::new();
        for numbers in all {
            let numbers = numbers.as_deref().unwrap_or_default();
            hash.update(&numbers.len().to_le_bytes());
            numbers.iter().for_each(|number| hash.update(&number.to_le_bytes()));
        }
        hash.digest()
    }
}

/// Returns the number of a class in batches.
pub(super) fn renumbered(
    number: i64,
    numbers: &Renumbered,
    key: impl FnOnce() -> String,
) -> Result<i64> {
    // -1 is no class in any list.
    let Some(numbers) = numbers.as_ref().filter(|_| number != -1) else { return Ok(number) };
    let new = usize::try_from(number).ok().and_then(|number| numbers.get(number));
    new.copied().ok_or_else(|| {
        let what =
            format!("its class {number} is not one of the {} that have names", numbers.len());
        Error::sample(key(), what)
    })
}

fn is_of_images(field: &FieldSpec) -> bool {
    matches!(field.kind, Kind::Image | Kind::Images)
}

/// Returns the error for a missing label, with the fields of the dataset.
fn no_label(reader: &dyn Reader, label: &Label) -> Error {
    let fields = reader.schema().fields.iter().filter(|field| !is_of_images(field));
    let names: Vec<String> = fields.map(|field| format!("`{}`", field.name)).collect();
    let wanted = match label {
        Label::Field(name) => format!("label `{name}`"),
        _ => "label of integers, and uses labels of other kinds only by name".to_owned(),
    };
    let cure = if names.is_empty() {
        "none of them can be the label".to_owned()
    } else {
        format!("name {} as the label", names.join(" or "))
    };
    let what = format!(
        "{} has no {wanted}; its fields are {}: {cure}, or ask for no labels (None)",
        reader.name(),
        listed(reader),
    );
    Error::usage("label", what)
}
