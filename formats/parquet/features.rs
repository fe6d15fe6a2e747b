//! Column descriptions of Hugging Face `datasets`, stored under the key `huggingface`.
use fdconvert_core::{ArraySpec, DType, FieldSpec, Kind, Schema};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Their key in the metadata of a file.
pub(crate) const KEY: &str = "huggingface";

/// The features of a file, by column name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features(Map<String, Json>);

impl Features {
    /// Parses the value of [`KEY`]; empty if it is not understood.
    pub(crate) fn parse(text: &str) -> Self {
        let mut document: Json = serde_json::from_str(text).unwrap_or_default();
        match document.pointer_mut("/info/features").map(Json::take) {
            Some(Json::Object(features)) => Self(features),
            _ => Self::default(),
        }
    }

    pub(crate) fn of(&self, column: &str) -> Option<Feature<'_>> {
        self.0.get(column).map(Feature)
    }

    /// Formats the features of a schema as the value of [`KEY`].
    pub(crate) fn text(schema: &Schema) -> String {
        let features = schema.fields.iter().map(|field| (field.name.clone(), feature(field)));
        let features: Map<String, Json> = features.collect();
        json!({ "info": { "features": features } }).to_string()
    }
}

/// Description of a column, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Feature<'a>(&'a Json);

impl<'a> Feature<'a> {
    /// Name of its Python class: `Image`, `ClassLabel`, `Value`.
    pub(crate) fn class(self) -> Option<&'a str> {
        self.0.get("_type")?.as_str()
    }

    /// The class names of a label.
    pub(crate) fn class_names(self) -> Option<Arc<[String]>> {
        if self.class() != Some("ClassLabel") {
            return None;
        }
        let names = self.0.get("names")?.as_array()?.iter();
        names.map(|name| Some(name.as_str()?.to_owned())).collect()
    }

    /// The class names of all labels within lists and structs, with their paths.
    pub(crate) fn inner_class_names(self) -> Vec<(String, Arc<[String]>)> {
        let mut found = Vec::new();
        self.find_class_names(String::new(), &mut found);
        found
    }

    fn find_class_names(self, key: String, found: &mut Vec<(String, Arc<[String]>)>) {
        match (self.class(), self.0) {
            (Some("ClassLabel"), _) => found.extend(self.class_names().map(|names| (key, names))),
            // Older versions described a list as a list of one element.
            (Some("Sequence" | "List" | "LargeList"), _) | (None, Json::Array(_)) => {
                if let Some(element) = self.element() {
                    element.find_class_names(key, found);
                }
            }
            (None, Json::Object(members)) => {
                for (name, member) in members {
                    let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                    Self(member).find_class_names(key, found);
                }
            }
            _ => {}
        }
    }

    /// Shape and type of an array, if the same in every row.
    pub(crate) fn array(self) -> Option<ArraySpec> {
        let (mut shape, mut inner) = (Vec::new(), self);
        loop {
            match inner.class() {
                Some("Array2D" | "Array3D" | "Array4D" | "Array5D") => {
                    let sizes = inner.0.get("shape")?.as_array()?.iter();
                    shape.extend(sizes.map(Json::as_u64).collect::<Option<Vec<_>>>()?);
                    return spec(shape, inner.0.get("dtype")?.as_str()?);
                }
                Some("Sequence" | "List" | "LargeList") => {
                    // -1 if it differs between rows.
                    shape.push(inner.0.get("length")?.as_u64()?);
                    inner = Self(inner.0.get("feature")?);
                }
                Some("Value") if !shape.is_empty() => {
                    return spec(shape, inner.0.get("dtype")?.as_str()?);
                }
                _ => return None,
            }
        }
    }

    /// Description of a member of a struct, or of the structs in a list.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        let structure = match self.class() {
            Some("Sequence" | "List" | "LargeList") => self.0.get("feature")?,
            _ => self.0,
        };
        // Older versions described a list as a list of one element.
        let structure = structure.get(0).unwrap_or(structure);
        structure.get(name).map(Self)
    }

    /// Description of the elements of a list.
    pub(crate) fn element(self) -> Option<Self> {
        self.0.get("feature").or_else(|| self.0.get(0)).map(Self)
    }
}

fn spec(shape: Vec<u64>, name: &str) -> Option<ArraySpec> {
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == name)?;
    let spec = ArraySpec { dtype, shape, torch: false };
    spec.byte_len().is_some().then_some(spec)
}

fn feature(field: &FieldSpec) -> Json {
    let value = |dtype: &str| json!({ "dtype": dtype, "_type": "Value" });
    match (&field.kind, &field.class_names) {
        (Kind::Image, _) => json!({ "_type": "Image" }),
        (Kind::Images, _) => json!({ "feature": { "_type": "Image" }, "_type": "List" }),
        (Kind::Int, Some(names)) => json!({ "names": names, "_type": "ClassLabel" }),
        (Kind::Int, None) => value("int64"),
        (Kind::Float, _) => value("float64"),
        (Kind::Bytes, _) => value("binary"),
        (Kind::Array(spec), _) => array_feature(spec),
        _ => value("string"),
    }
}

fn array_feature(spec: &ArraySpec) -> Json {
    let (shape, name) = stored(spec);
    if let 2..=5 = shape.len() {
        return json!({
            "shape": shape,
            "dtype": name,
            "_type": format!("Array{}D", shape.len()),
        });
    }
    let element = json!({ "dtype": name, "_type": "Value" });
    shape.iter().rev().fold(
        element,
        |feature, length| json!({ "feature": feature, "length": length, "_type": "Sequence" }),
    )
}

/// Shape and type of an array in the file: complex numbers become pairs, and a scalar a list of one
/// element.
pub(crate) fn stored(spec: &ArraySpec) -> (Vec<u64>, &'static str) {
    let mut shape = spec.shape.clone();
    let name = match spec.dtype {
        DType::C64 => {
            shape.push(2);
            DType::F32.name()
        }
        DType::C128 => {
            shape.push(2);
            DType::F64.name()
        }
        dtype => dtype.name(),
    };
    if shape.is_empty() {
        shape.push(1);
    }
    (shape, name)
}

/// Repetition level of element `number` of an array: the number of dimensions that continue there.
pub(crate) fn repetition(shape: &[u64], number: u64) -> i16 {
    if number == 0 {
        return 0;
    }
    let (mut rep, mut rest) = (shape.len() as i16, number);
    for &size in shape.iter().rev() {
        if rest % size.max(1) != 0 {
            break;
        }
        rest /= size.max(1);
        rep -= 1;
    }
    rep
}
