//! The texts that an expression compares with a name, even before the names are known.
use crate::expression::{
    Expression, Node, Operator, Scalar, Type,
    tokens::{Token, tokens},
};
use fdconvert_core::{Error, Result, option};
use std::{collections::BTreeSet, iter, slice};

/// Returns the splits to which an expression confines samples; empty if it does not. A folder needs
/// them before it is opened: images without a class are no error in other splits.
///
/// ```
/// use fdconvert_pipeline::splits_of;
///
/// assert_eq!(splits_of("split in ['train', 'val'] && width > 9")?, ["train", "val"]);
/// assert!(splits_of("split == 'train' || width > 9")?.is_empty());
/// # Ok::<(), fdconvert_core::Error>(())
/// ```
///
/// # Errors
/// `Usage` for text that is not an expression for any names.
pub fn splits_of(expression: &str) -> Result<Vec<String>> {
    let (sketch, split) = sketch(expression)?;
    let splits = split.and_then(|split| sketch.root.splits(&Node::Name(split))).unwrap_or_default();
    Ok(splits.into_iter().map(str::to_owned).collect())
}

/// Parses an expression with arbitrary names, because there is no source yet, and returns the place
/// of `split` among them.
pub(super) fn sketch(text: &str) -> Result<(Expression, Option<usize>)> {
    let words = tokens(text).unwrap_or_default();
    let named = words.into_iter().filter_map(|(_, word)| match word {
        Token::Name(name) => Some((name, Type::Any)),
        _ => None,
    });
    // No text is the name of the objects, which have no other use than in `any` and `count`.
    let objects = iter::once((String::new(), Type::Objects));
    let named: Vec<_> = named.chain(objects).collect();
    let sketch = Expression::parse(text, &named);
    let sketch = sketch.map_err(|what| Error::usage(option::WHERE, what))?;
    Ok((sketch, named.iter().position(|(name, _)| name == "split")))
}

impl Expression {
    /// Returns every text that is compared with a name for equality or inequality.
    pub(super) fn compared_with(&self, name: &Node) -> Vec<&str> {
        self.root.all_compared_with(name)
    }
}

impl Node {
    fn all_compared_with(&self, name: &Self) -> Vec<&str> {
        let mut found = self.compared_with(name).unwrap_or_default();
        match self {
            Self::Not(inner)
            | Self::Negative(inner)
            | Self::Any(_, inner)
            | Self::Count(_, inner) => found.extend(inner.all_compared_with(name)),
            Self::Both(_, left, right) => {
                found.extend(left.all_compared_with(name));
                found.extend(right.all_compared_with(name));
            }
            Self::Value(_) | Self::Name(_) | Self::Property(_) | Self::In(..) => {}
        }
        found
    }

    /// `None` unless this part only compares the name with texts.
    fn compared_with(&self, name: &Self) -> Option<Vec<&str>> {
        let values = match self {
            Self::Both(Operator::Equal | Operator::Unequal, left, right) => {
                match (&**left, &**right) {
                    (other, Self::Value(value)) | (Self::Value(value), other) if other == name => {
                        slice::from_ref(value)
                    }
                    _ => return None,
                }
            }
            Self::In(inner, list) if **inner == *name => list,
            _ => return None,
        };
        let texts = values.iter().filter_map(|value| match value {
            Scalar::Text(text) => Some(text.as_str()),
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Objects(_) => None,
        });
        Some(texts.collect())
    }

    /// `None` if samples of any split may be taken.
    fn splits(&self, split: &Self) -> Option<BTreeSet<&str>> {
        match self {
            Self::Both(Operator::And, left, right) => {
                match (left.splits(split), right.splits(split)) {
                    (Some(left), Some(right)) => Some(&left & &right),
                    (left, right) => left.or(right),
                }
            }
            Self::Both(Operator::Or, left, right) => {
                Some(&left.splits(split)? | &right.splits(split)?)
            }
            Self::Both(Operator::Unequal, ..) => None,
            _ => self.compared_with(split).map(|texts| texts.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_confines_splits_or_does_not() {
        for (expression, expected) in [
            ("split == 'train'", &["train"][..]),
            ("'train' == split && my_field > 3", &["train"]),
            ("(split in ['val', 'train'] || split == \"test\")", &["test", "train", "val"]),
            ("split in ['val', 'train'] && split == 'val' && !(label == 'cat')", &["val"]),
            ("my_field contains 'x' && split == 'a b'", &["a b"]),
            (
                "split == 'train' && any(width > 3 && category == 'a') && count(area > 1) > 1",
                &["train"],
            ),
            ("any(category == 'train')", &[]),
            ("split == 'train' || width > 3", &[]),
            ("split != 'train'", &[]),
            ("!(split == 'train')", &[]),
            ("split starts_with 'tr'", &[]),
            ("width > 3", &[]),
        ] {
            assert_eq!(splits_of(expression).unwrap(), expected, "{expression}");
        }
        for expression in ["split == ", "'", "split 'train'"] {
            assert!(splits_of(expression).unwrap_err().to_string().contains("column"));
        }
    }
}
