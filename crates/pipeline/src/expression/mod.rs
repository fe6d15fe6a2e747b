//! Expressions over the properties of samples, such as `width >= 256 && label == "cat"`.
//!
//! ```text
//! or      := and { "||" and }              compare := sum [ operator sum | "in" "[" values "]" ]
//! and     := compare { "&&" compare }      sum     := product { ("+" | "-") product }
//! product := unary { ("*" | "/") unary }   unary   := { "!" | "-" } operand
//! operand := value | name | "(" or ")" | ("any" | "count") "(" or ")"
//! ```
//!
//! Types are checked when an expression is parsed, so that a run of hours does not fail because a
//! text is compared with a number. Division is real; integers that become too large continue as
//! real numbers. A missing value, such as a label, equals nothing, and every other comparison with
//! it is false.
//!
//! `any(...)` and `count(...)` are about the objects of a sample, and have names of their own: those
//! of the properties of an object.

mod compared;
mod condition;
mod objects;
mod parse;
mod tokens;

pub use compared::splits_of;
pub(crate) use condition::spared;
pub use condition::{Condition, Meaning};
pub use objects::{field_of_objects, known_categories};

use fdconvert_core::{Result, objects::Annotations};
use objects::Property;
use std::{borrow::Cow, cmp::Ordering, collections::BTreeSet, sync::Arc};

/// Type of a name or of a part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Number: whole or real.
    Number,
    /// UTF-8 text.
    Text,
    /// Truth value: the type of a whole expression.
    Truth,
    /// Category of an object: its name next to texts, its number next to numbers.
    Category,
    /// Objects of a sample, for `any` and `count`.
    Objects,
    /// Unknown type, which fits everywhere.
    Any,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Truth => "true or false",
            Self::Category => "a category",
            Self::Objects => "objects",
            Self::Any => "anything",
        }
    }
}

/// Value of a name in one sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// Text.
    Text(String),
    /// Objects.
    Objects(Arc<Annotations>),
}

/// Expression, checked against the known names.
///
/// ```
/// use fdconvert_pipeline::{Expression, Scalar, Type};
///
/// let names = [("width".to_owned(), Type::Number), ("key".to_owned(), Type::Text)];
/// let wide = Expression::parse(r#"width / 2 >= 100 && !(key contains "raw")"#, &names)?;
/// let of = |name: usize| Ok(Some([Scalar::Int(200), Scalar::Text("a.jpg".into())][name].clone()));
/// assert!(wide.holds(&of)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    root: Node,
}

/// An operator between two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    StartsWith,
    EndsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Value(Scalar),
    /// A name, by position.
    Name(usize),
    /// A property of the object of the innermost `Any` or `Count`.
    Property(Property),
    /// Whether a part holds for any of the objects in the value of a name.
    Any(usize, Box<Self>),
    /// The number of these objects.
    Count(usize, Box<Self>),
    Not(Box<Self>),
    Negative(Box<Self>),
    Both(Operator, Box<Self>, Box<Self>),
    In(Box<Self>, Vec<Scalar>),
}

/// Values of names in one sample, and the object that properties are of.
#[derive(Clone, Copy)]
struct Lookup<'a> {
    value: &'a dyn Fn(usize) -> Result<Option<Scalar>>,
    object: Option<(&'a Annotations, usize)>,
}

/// Value of a part in one sample.
enum Found<'a> {
    Missing,
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Truth(bool),
}

impl Expression {
    /// Parses and checks an expression over these names.
    ///
    /// # Errors
    /// A text with the column and the expression, marked with a `^`.
    pub fn parse(text: &str, names: &[(String, Type)]) -> Result<Self, String> {
        let parsed = parse::parse(text, names);
        parsed.map(|root| Self { root }).map_err(|problem| problem.shown(text))
    }

    /// Returns true if the expression holds for a sample with the names' values from `value`. Names
    /// are looked up when needed: not after an `&&` with a false left side.
    ///
    /// # Errors
    /// The first error of `value`.
    pub fn holds(&self, value: &dyn Fn(usize) -> Result<Option<Scalar>>) -> Result<bool> {
        Ok(matches!(self.root.find(Lookup { value, object: None })?, Found::Truth(true)))
    }

    /// Splits the expression at every `&&` outside other operators.
    #[must_use]
    pub fn conjuncts(self) -> Vec<Self> {
        match self.root {
            Node::Both(Operator::And, left, right) => {
                let sides = [*left, *right].into_iter();
                sides.flat_map(|root| Self { root }.conjuncts()).collect()
            }
            root => vec![Self { root }],
        }
    }

    /// Returns the positions of the names in it.
    #[must_use]
    pub fn names(&self) -> BTreeSet<usize> {
        let mut names = BTreeSet::new();
        self.root.add_names(&mut names);
        names
    }
}

impl Node {
    fn add_names(&self, names: &mut BTreeSet<usize>) {
        match self {
            Self::Value(_) | Self::Property(_) => {}
            Self::Name(name) | Self::Any(name, _) | Self::Count(name, _) => {
                names.insert(*name);
            }
            Self::Not(inner) | Self::Negative(inner) | Self::In(inner, _) => inner.add_names(names),
            Self::Both(_, left, right) => {
                left.add_names(names);
                right.add_names(names);
            }
        }
    }

    fn find<'a>(&'a self, of: Lookup<'a>) -> Result<Found<'a>> {
        Ok(match self {
            Self::Value(scalar) => scalar.into(),
            Self::Name(name) => match (of.value)(*name)? {
                None | Some(Scalar::Objects(_)) => Found::Missing,
                Some(Scalar::Int(int)) => Found::Int(int),
                Some(Scalar::Float(float)) => Found::Float(float),
                Some(Scalar::Text(text)) => Found::Text(Cow::Owned(text)),
            },
            Self::Property(property) => match of.object {
                None => Found::Missing,
                Some((objects, at)) => property.of(objects, at),
            },
            Self::Any(objects, inner) => Found::Truth(inner.count(*objects, of, 1)? > 0),
            Self::Count(objects, inner) => Found::Int(inner.count(*objects, of, i64::MAX)?),
            Self::Not(inner) => Found::Truth(!inner.find(of)?.is_true()),
            Self::Negative(inner) => match inner.find(of)? {
                Found::Int(int) => {
                    int.checked_neg().map_or(Found::Float(-(int as f64)), Found::Int)
                }
                Found::Float(float) => Found::Float(-float),
                _ => Found::Missing,
            },
            Self::In(inner, list) => {
                let inner = inner.find(of)?;
                Found::Truth(
                    list.iter().any(|scalar| inner.order(&scalar.into()) == Some(Ordering::Equal)),
                )
            }
            Self::Both(Operator::And, left, right) => {
                Found::Truth(left.find(of)?.is_true() && right.find(of)?.is_true())
            }
            Self::Both(Operator::Or, left, right) => {
                Found::Truth(left.find(of)?.is_true() || right.find(of)?.is_true())
            }
            Self::Both(operator, left, right) => operator.of(&left.find(of)?, &right.find(of)?),
        })
    }
}

impl Operator {
    fn of(self, left: &Found<'_>, right: &Found<'_>) -> Found<'static> {
        let order = || left.order(right);
        let texts = |test: fn(&str, &str) -> bool| match (left, right) {
            (Found::Text(left), Found::Text(right)) => test(left, right),
            _ => false,
        };
        Found::Truth(match self {
            Self::Or | Self::And => left.is_true() && right.is_true(),
            Self::Equal => order() == Some(Ordering::Equal),
            Self::Unequal => order() != Some(Ordering::Equal),
            Self::Less => order() == Some(Ordering::Less),
            Self::LessOrEqual => order().is_some_and(Ordering::is_le),
            Self::Greater => order() == Some(Ordering::Greater),
            Self::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
            Self::Contains => texts(|left, right| left.contains(right)),
            Self::StartsWith => texts(|left, right| left.starts_with(right)),
            Self::EndsWith => texts(|left, right| left.ends_with(right)),
            Self::Add => return left.sum(right, i64::checked_add, |a, b| a + b),
            Self::Subtract => return left.sum(right, i64::checked_sub, |a, b| a - b),
            Self::Multiply => return left.sum(right, i64::checked_mul, |a, b| a * b),
            Self::Divide => return left.sum(right, |_, _| None, |a, b| a / b),
        })
    }
}

impl Found<'_> {
    fn is_true(&self) -> bool {
        matches!(self, Self::Truth(true))
    }

    fn float(&self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(*int as f64),
            Self::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// `None` if one of them is missing, or not a number.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            _ => self.float()?.partial_cmp(&other.float()?),
        }
    }

    /// Adds integers while the result fits, else real numbers.
    fn sum(
        &self,
        other: &Self,
        whole: fn(i64, i64) -> Option<i64>,
        real: fn(f64, f64) -> f64,
    ) -> Found<'static> {
        if let (Self::Int(left), Self::Int(right)) = (self, other)
            && let Some(int) = whole(*left, *right)
        {
            return Found::Int(int);
        }
        let numbers = self.float().zip(other.float());
        numbers.map_or(Found::Missing, |(left, right)| Found::Float(real(left, right)))
    }
}

impl<'a> From<&'a Scalar> for Found<'a> {
    fn from(scalar: &'a Scalar) -> Self {
        match scalar {
            Scalar::Int(int) => Self::Int(*int),
            Scalar::Float(float) => Self::Float(*float),
            Scalar::Text(text) => Self::Text(Cow::Borrowed(text)),
            Scalar::Objects(_) => Self::Missing,
        }
    }
}
