//! Matches the fields of two datasets.
use super::values::{self, Difference};
use fdconvert_codec::Decoder;
use fdconvert_core::{Encoded, FieldSpec, Limits, Schema, Value};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct FieldPair {
    /// Its position in each dataset.
    pub(super) at: [usize; 2],
    /// Its name in each dataset.
    pub(super) names: [String; 2],
    /// Class names, if both datasets have them and they differ.
    classes: Option<[Arc<[String]>; 2]>,
}

/// Matches fields in the order of the first dataset, and returns the names of the fields of one
/// alone.
pub(super) fn matched(a: &Schema, b: &Schema) -> (Vec<FieldPair>, [Vec<String>; 2]) {
    let mut partner: Vec<Option<usize>> = vec![None; a.fields.len()];
    let is_free = |partner: &[Option<usize>], at: usize| !partner.contains(&Some(at));
    // By name first: an unmatched field must not take one that has the same name as another.
    for by_name in [true, false] {
        for (one, field) in a.fields.iter().enumerate() {
            if partner.get(one) != Some(&None) {
                continue;
            }
            let fits = |(at, other): &(usize, &FieldSpec)| {
                is_free(&partner, *at)
                    && other.kind == field.kind
                    && (!by_name || other.name == field.name)
            };
            let found = b.fields.iter().enumerate().find(fits).map(|(at, _)| at);
            if let Some(partner) = partner.get_mut(one) {
                *partner = found;
            }
        }
    }
    let mut pairs = Vec::new();
    let mut alone = [Vec::new(), Vec::new()];
    for ((one, field), partner) in a.fields.iter().enumerate().zip(&partner) {
        match partner.and_then(|at| Some((at, b.fields.get(at)?))) {
            Some((at, other)) => pairs.push(FieldPair {
                at: [one, at],
                names: [field.name.clone(), other.name.clone()],
                classes: (field.class_names.clone().zip(other.class_names.clone()))
                    .filter(|(one, other)| one != other)
                    .map(|(one, other)| [one, other]),
            }),
            None => alone[0].push(field.name.clone()),
        }
    }
    let free = b.fields.iter().enumerate().filter(|(at, _)| is_free(&partner, *at));
    alone[1] = free.map(|(_, field)| field.name.clone()).collect();
    (pairs, alone)
}

impl FieldPair {
    /// Returns the difference of two values of the field; `None` if they are equal. With a decoder,
    /// images are also compared by their pixels.
    pub(super) fn difference(
        &self,
        one: &Value<Encoded>,
        other: &Value<Encoded>,
        pixels: Option<(&mut Decoder, &Limits)>,
    ) -> Option<Difference> {
        if let (Value::Int(one), Value::Int(other), Some(classes)) = (one, other, &self.classes) {
            let [one_name, other_name] = [(one, &classes[0]), (other, &classes[1])]
                .map(|(label, names)| names.get(usize::try_from(*label).ok()?));
            if let (Some(one_name), Some(other_name)) = (one_name, other_name) {
                return (one_name != other_name)
                    .then(|| Difference::Value([one_name.clone(), other_name.clone()]));
            }
        }
        values::difference(one, other, pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::matched;
    use fdconvert_core::{FieldSpec, Kind, Schema};

    fn schema(fields: &[(&str, Kind)]) -> Schema {
        let fields = fields.iter().map(|(name, kind)| FieldSpec::new(*name, kind.clone()));
        Schema { fields: fields.collect() }
    }

    #[test]
    fn fields_are_matched_by_name_then_by_kind_and_order() {
        let a = schema(&[
            ("image", Kind::Image),
            ("mask", Kind::Image),
            ("label", Kind::Int),
            ("caption", Kind::Text),
        ]);
        // The mask keeps its name, so that the image is what remains.
        let b = schema(&[
            ("cls", Kind::Int),
            ("mask", Kind::Image),
            ("jpg", Kind::Image),
            ("score", Kind::Float),
        ]);
        let (pairs, alone) = matched(&a, &b);
        let names: Vec<_> = pairs.iter().map(|pair| (pair.at, pair.names.clone())).collect();
        let pair = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
        assert_eq!(
            names,
            [
                ([0, 2], pair("image", "jpg")),
                ([1, 1], pair("mask", "mask")),
                ([2, 0], pair("label", "cls")),
            ]
        );
        assert_eq!(alone, [vec!["caption".to_owned()], vec!["score".to_owned()]]);
        // The same name with another kind is another field.
        let (pairs, alone) = matched(&schema(&[("x", Kind::Int)]), &schema(&[("x", Kind::Text)]));
        assert!(pairs.is_empty());
        assert_eq!(alone, [vec!["x".to_owned()], vec!["x".to_owned()]]);
    }
}
