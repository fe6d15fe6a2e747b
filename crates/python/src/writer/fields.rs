//! Converts Python objects to the values of a sample by a schema.
use super::image::{image, shared};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, DType, FieldSpec, Image, Kind, Schema, Value,
    objects::{Member, Members},
};
use pyo3::{
    exceptions::PyRuntimeError,
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyModule, PyString, PyTuple},
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The reason why an object is not a sample.
pub(crate) enum Unfit {
    /// It does not fit the schema.
    Said(String),
    /// The exception that its inspection raised.
    Raised(PyErr),
}

impl From<PyErr> for Unfit {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// The fields of samples.
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// Fields with images that are labels.
    pub(crate) masks: Vec<usize>,
    names: Vec<Py<PyString>>,
    /// Class numbers by name, for fields with named classes.
    classes: Vec<BTreeMap<String, i64>>,
    /// Members of annotations of objects, for fields that contain these.
    members: Vec<Option<Members>>,
    /// Whether samples may have further fields, which are left out.
    takes_some: bool,
    /// Python module that handles objects of other libraries.
    helper: Py<PyModule>,
}

/// A sample's values, and its name if it has one.
pub(crate) struct Values {
    pub(crate) key: Option<String>,
    pub(crate) values: Vec<Value<Image>>,
}

impl Fields {
    /// Creates the fields of a schema in the form of JSON documents, with the members of documents.
    pub(crate) fn new(
        py: Python<'_>,
        schema: &str,
        masks: Vec<usize>,
        takes_some: bool,
    ) -> PyResult<Self> {
        let no_schema = |cause| PyRuntimeError::new_err(format!("no schema: {cause}"));
        let mut document: Json = serde_json::from_str(schema).map_err(no_schema)?;
        let members = document.get_mut("members").map(Json::take).unwrap_or_else(|| json!({}));
        let mut members: BTreeMap<String, Vec<Member>> =
            serde_json::from_value(members).map_err(no_schema)?;
        let schema: Schema = serde_json::from_value(document).map_err(no_schema)?;
        let schema = Schema::new(schema.fields).map_err(|error| crate::error::raise(&error))?;
        let name = |field: &FieldSpec| PyString::intern(py, &field.name).unbind();
        let numbers = |field: &FieldSpec| {
            let names = field.class_names.as_deref().unwrap_or_default();
            names.iter().cloned().zip(0..).collect()
        };
        Ok(Self {
            names: schema.fields.iter().map(name).collect(),
            classes: schema.fields.iter().map(numbers).collect(),
            members: (schema.fields.iter())
                .map(|field| Members::of(&field.name, members.remove(&field.name)?))
                .collect(),
            helper: py.import("fdconvert._values")?.unbind(),
            schema,
            masks,
            takes_some,
        })
    }

    /// Returns the values of a sample: a dictionary of its fields, a tuple of them in order, or the
    /// value of the only field.
    pub(crate) fn values(&self, object: &Bound<'_, PyAny>) -> Result<Values, Unfit> {
        let py = object.py();
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.of_dict(dict);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.in_order(tuple.len(), tuple.iter_borrowed());
        }
        if let Ok(list) = object.cast::<PyList>() {
            let objects: Vec<_> = list.iter().collect();
            return self.in_order(objects.len(), objects.iter().map(Bound::as_borrowed));
        }
        let dict = self.helper.bind(py).call_method1(intern!(py, "as_dict"), (object,))?;
        if let Ok(dict) = dict.cast::<PyDict>() {
            return self.of_dict(dict);
        }
        if self.names.len() > 1 {
            let what = format!(
                "a sample is a dict or a tuple of its fields {}, not {}",
                self.listed(),
                self.described(object)
            );
            return Err(Unfit::Said(what));
        }
        self.in_order(1, [object.as_borrowed()])
    }

    /// Returns the values of that many objects, one for each field.
    fn in_order<'a, 'py: 'a>(
        &self,
        n_given: usize,
        objects: impl IntoIterator<Item = Borrowed<'a, 'py, PyAny>>,
    ) -> Result<Values, Unfit> {
        if n_given != self.names.len() {
            let what = format!("it has {n_given} values for the fields {}", self.listed());
            return Err(Unfit::Said(what));
        }
        let mut values = Vec::with_capacity(n_given);
        for (at, object) in objects.into_iter().enumerate() {
            values.push(self.value(at, &object)?);
        }
        Ok(Values { key: None, values })
    }

    fn of_dict(&self, dict: &Bound<'_, PyDict>) -> Result<Values, Unfit> {
        let py = dict.py();
        let mut values = Vec::with_capacity(self.names.len());
        for (at, name) in self.names.iter().enumerate() {
            let Some(object) = dict.get_item(name)? else {
                let what = format!("it has no field `{}`, only {}", name.bind(py), names_of(dict));
                return Err(Unfit::Said(what));
            };
            values.push(self.value(at, &object)?);
        }
        if dict.len() > self.names.len() && !self.takes_some {
            for name in dict.keys() {
                let name = name.str()?.to_string();
                // As in WebDataset, these describe the sample and are not among its fields.
                if !name.starts_with("__") && self.schema.position(&name).is_none() {
                    let what = format!(
                        "it has a field `{name}`, and the others have only {}; a schema says which \
                         are taken",
                        self.listed()
                    );
                    return Err(Unfit::Said(what));
                }
            }
        }
        let key = match dict.get_item(intern!(py, "__key__"))? {
            Some(key) => Some(key.extract().map_err(|_| {
                Unfit::Said(format!("its `__key__` is not text but {}", self.described(&key)))
            })?),
            None => None,
        };
        Ok(Values { key, values })
    }

    fn value(&self, at: usize, object: &Bound<'_, PyAny>) -> Result<Value<Image>, Unfit> {
        let Some(field) = self.schema.fields.get(at) else {
            return Err(Unfit::Said(format!("field {at} is missing")));
        };
        let helper = self.helper.bind(object.py());
        let unfit = |cure: &str| {
            let expected = expected(field);
            let got = self.described(object);
            Unfit::Said(format!("field `{}`: expected {expected}, got {got}{cure}", field.name))
        };
        // The helper marks unfit objects with a special exception; all others come from the object.
        let told = |error: PyErr, unfit: &dyn Fn(&str) -> Unfit| match helper
            .getattr(intern!(helper.py(), "Unfit"))
        {
            Ok(kind) if error.matches(helper.py(), &kind).unwrap_or(false) => {
                unfit(&format!("; {}", error.value(helper.py())))
            }
            _ => Unfit::Raised(error),
        };
        let said = |error: PyErr| told(error, &unfit);
        let image_of = |object: &Bound<'_, PyAny>, unfit: &dyn Fn(&str) -> Unfit| {
            image(object, helper).map_err(|error| match error {
                Unfit::Said(what) => unfit(&what),
                Unfit::Raised(error) => told(error, unfit),
            })
        };
        if object.is_none() && field.kind == Kind::Images {
            return Ok(Value::Images(Vec::new()));
        }
        if object.is_none() && field.kind != Kind::Json {
            return Err(unfit("; every sample needs a value"));
        }
        Ok(match &field.kind {
            Kind::Image => Value::Image(image_of(object, &unfit)?),
            Kind::Images => {
                let list = object.extract::<Vec<Bound<'_, PyAny>>>().ok();
                let list = list.filter(|_| !object.is_instance_of::<PyBytes>());
                let in_list = |(number, object): (usize, Bound<'_, PyAny>)| {
                    let unfit = |cure: &str| {
                        let (name, got) = (&field.name, self.described(&object));
                        Unfit::Said(format!(
                            "field `{name}`, image {number}: expected an image, got {got}{cure}"
                        ))
                    };
                    image_of(&object, &unfit)
                };
                let images = list.ok_or_else(|| unfit(""))?.into_iter().enumerate().map(in_list);
                Value::Images(images.collect::<Result<_, _>>()?)
            }
            Kind::Int => Value::Int(match (object.cast::<PyString>(), self.classes.get(at)) {
                (Ok(name), Some(classes)) if !classes.is_empty() => {
                    let name = name.to_string();
                    *classes.get(&name).ok_or_else(|| unfit(""))?
                }
                _ => self.number(field, object).ok_or_else(|| unfit(""))?,
            }),
            Kind::Float => Value::Float(object.extract().map_err(|_| unfit(""))?),
            Kind::Text => {
                let text = object.cast::<PyString>().map_err(|_| unfit(""))?;
                Value::Text(text.to_str().map_err(|_| unfit("; it is not Unicode"))?.to_owned())
            }
            Kind::Bytes => Value::Bytes(match object.is_instance_of::<PyBytes>() {
                true => shared(object)?,
                false => helper
                    .call_method1("content", (object,))
                    .and_then(|bytes| shared(&bytes))
                    .map_err(said)?,
            }),
            Kind::Json => {
                let text = helper.call_method1("json_text", (object,));
                let text = text.and_then(|text| shared(&text)).map_err(said)?;
                Value::Json(match self.members.get(at) {
                    Some(Some(members)) => arranged(members, text),
                    _ => text,
                })
            }
            Kind::Array(spec) => {
                let shape = PyTuple::new(helper.py(), &spec.shape)?;
                let found = helper.call_method1("array", (object, spec.dtype.numpy(), shape));
                Value::Array(found.and_then(|bytes| shared(&bytes)).map_err(said)?)
            }
            other => {
                let what = format!("field `{}`: a {} cannot be written", field.name, other.name());
                return Err(Unfit::Said(what));
            }
        })
    }

    /// Returns an integer; for a label with class names one of them, or -1 for none.
    fn number(&self, field: &FieldSpec, object: &Bound<'_, PyAny>) -> Option<i64> {
        // Python does not treat NumPy's booleans as integers.
        let number =
            object.extract().ok().or_else(|| object.extract::<bool>().ok().map(i64::from))?;
        let n_classes = field.class_names.as_ref().map(|names| names.len() as i64);
        let is_class = n_classes.is_none_or(|n| (-1..n).contains(&number));
        is_class.then_some(number)
    }

    /// Lists the names, for people.
    fn listed(&self) -> String {
        let names: Vec<_> =
            self.schema.fields.iter().map(|field| format!("`{}`", field.name)).collect();
        names.join(", ")
    }

    fn described(&self, object: &Bound<'_, PyAny>) -> String {
        let helper = self.helper.bind(object.py());
        let text = helper.call_method1(intern!(object.py(), "described"), (object,));
        text.map(|text| text.to_string()).unwrap_or_else(|_| object.get_type().to_string())
    }
}

/// Arranges annotations like a table for the same dataset.
fn arranged(members: &Members, text: Bytes) -> Bytes {
    let Ok(document) = serde_json::from_slice(&text) else { return text };
    members.arrange(document).to_string().into()
}

fn names_of(dict: &Bound<'_, PyDict>) -> String {
    let names: Vec<_> = dict.keys().iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}

/// Describes the contents of a field, for people.
fn expected(field: &FieldSpec) -> String {
    match &field.kind {
        Kind::Image => "an image".to_owned(),
        Kind::Images => "a list of images".to_owned(),
        Kind::Int => match &field.class_names {
            Some(names) => format!("one of {} classes, by number or name", names.len()),
            None => "an integer of 64 bits".to_owned(),
        },
        Kind::Float => "a number".to_owned(),
        Kind::Text => "a text".to_owned(),
        Kind::Json => "what JSON holds".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Array(ArraySpec { dtype, shape, .. }) => array_text(*dtype, shape),
        other => format!("a value of kind {}", other.name()),
    }
}

fn array_text(dtype: DType, shape: &[u64]) -> String {
    let sides: Vec<_> = shape.iter().map(ToString::to_string).collect();
    let comma = if sides.len() == 1 { "," } else { "" };
    format!("an array of {} and shape ({}{comma})", dtype.name(), sides.join(", "))
}
