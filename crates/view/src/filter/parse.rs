//! Parameters of a request -> conditions.
use super::{Column, Condition, Filter, Range, Test};
use crate::{
    answer::Failure,
    catalog::{Texts, codec_number},
    dataset::Dataset,
    fields::{Field, Further},
    request::Asked,
};
use fdconvert_core::Codec;

/// Parameters that are about something else.
const OTHERS: [&str; 6] = ["set", "start", "count", "sample", "side", "object"];

/// Different parameters, and alternatives of all of them: more than any page has places for.
const MOST_CONDITIONS: usize = 64;
const MOST_TESTS: usize = 1000;

impl Filter {
    /// The filter that a request asks for.
    ///
    /// # Errors
    /// For parameters that mean nothing in this dataset.
    pub(crate) fn parse(asked: &Asked, dataset: &Dataset) -> Result<Self, Failure> {
        let mut filter = Self::default();
        let mut n_tests = 0;
        for (name, value) in asked.parameters().filter(|(name, _)| !OTHERS.contains(name)) {
            n_tests += 1;
            if n_tests > MOST_TESTS {
                return Err(Failure::asked_wrong(format!("more than {MOST_TESTS} parameters")));
            }
            match name {
                "text" => filter.texts.push(value.to_lowercase()),
                "damaged" if value == "1" => filter.damaged = true,
                "damaged" => return Err(nonsense(name, value, "it is 1 or not there")),
                _ => filter.add(name, condition(name, value, dataset)?),
            }
        }
        if filter.conditions.len() > MOST_CONDITIONS {
            let what = format!("more than {MOST_CONDITIONS} different parameters");
            return Err(Failure::asked_wrong(what));
        }
        // The same filter, whatever the order of its parts.
        filter.texts.sort_unstable();
        filter.texts.dedup();
        filter.conditions.sort_by(|one, other| one.name.cmp(&other.name));
        for condition in &mut filter.conditions {
            condition.tests.sort_by_key(|test| format!("{test:?}"));
            condition.tests.dedup();
        }
        Ok(filter)
    }

    fn add(&mut self, name: &str, (column, test): (Column, Test)) {
        match self.conditions.iter_mut().find(|condition| condition.name == name) {
            Some(condition) => condition.tests.push(test),
            None => {
                self.conditions.push(Condition { name: name.into(), column, tests: vec![test] });
            }
        }
    }
}

fn nonsense(name: &str, value: &str, why: &str) -> Failure {
    Failure::asked_wrong(format!("`{name}={value}` means nothing: {why}"))
}

fn condition(name: &str, value: &str, dataset: &Dataset) -> Result<(Column, Test), Failure> {
    let sized = |column| match Range::of_size(value) {
        Some(range) => Ok((column, Test::Range(range))),
        None => Err(nonsense(name, value, "a range is e.g. 256-512, 256- or -512")),
    };
    match name {
        "class" => match value.parse() {
            Ok(class) => Ok((Column::Class, Test::Int(class))),
            Err(_) => Err(nonsense(name, value, "classes are named by their number")),
        },
        "codec" => {
            let codec = Codec::ALL.into_iter().find(|codec| codec.extension() == value);
            match codec.or_else(|| Codec::from_extension(value)) {
                Some(codec) => Ok((Column::Codec, Test::Codec(codec_number(codec)))),
                None => Err(nonsense(name, value, "there is no such codec")),
            }
        }
        "width" => sized(Column::Width),
        "height" => sized(Column::Height),
        "bytes" => sized(Column::Bytes),
        "aspect" => sized(Column::Aspect),
        "split" => match dataset.splits().iter().any(|(name, _)| name == value) {
            true => Ok((Column::Split, Test::Text(value.into()))),
            false => Err(nonsense(name, value, "there is no such split")),
        },
        _ => {
            let fields = dataset.catalog.fields();
            let known = name.strip_prefix("f.");
            let known = known.and_then(|known| fields.iter().position(|field| field.name == known));
            let field = known.and_then(|at| Some((at, fields.get(at)?)));
            let Some((at, field)) = field else {
                return Err(nonsense(name, value, "there is no such filter"));
            };
            let published = dataset.catalog.published();
            if published.texts(at).is_some_and(Texts::is_given_up) {
                let why = "its texts are too long, or too many different ones, to choose by";
                return Err(nonsense(name, value, why));
            }
            Ok((Column::Further(at), of_field(field, name, value)?))
        }
    }
}

fn of_field(field: &Field, name: &str, value: &str) -> Result<Test, Failure> {
    let range = || match Range::of_number(value) {
        Some(range) => Ok(Test::Range(range)),
        None => Err(nonsense(name, value, "a number, or a range such as 0.5-2 or 0.5-")),
    };
    match field.kind {
        Further::Text => Ok(Test::Text(value.into())),
        Further::Int => value.parse().map(Test::Int).or_else(|_| range()),
        Further::Float => range(),
    }
}

impl Range {
    /// A range of what is never below 0.
    fn of_size(text: &str) -> Option<Self> {
        match text.strip_prefix('-') {
            Some(most) => Self::between("", most),
            None => Self::of_number(text),
        }
    }

    /// A range of numbers, which may be negative, or one number.
    fn of_number(text: &str) -> Option<Self> {
        // The sign of the first number, and that of an exponent, divide nothing.
        let bytes = text.as_bytes();
        let divides = |at: &usize| {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            bytes.get(*at) == Some(&b'-') && before.is_some_and(|it| !matches!(it, b'e' | b'E'))
        };
        match (1..bytes.len()).find(divides) {
            Some(at) => Self::between(text.get(..at)?, text.get(at + 1..)?),
            None => Self::between(text, text),
        }
    }

    fn between(least: &str, most: &str) -> Option<Self> {
        let number = |text: &str, missing: f64| match text {
            "" => Some(missing),
            text => text.parse::<f64>().ok().filter(|number| !number.is_nan()),
        };
        if least.is_empty() && most.is_empty() {
            return None;
        }
        let (least, most) = (number(least, f64::NEG_INFINITY)?, number(most, f64::INFINITY)?);
        (least <= most).then_some(Self { least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn ranges_are_read() {
        let number = |text| Range::of_number(text).map(|range| (range.least, range.most));
        let size = |text| Range::of_size(text).map(|range| (range.least, range.most));
        assert_eq!(number("256-512"), Some((256.0, 512.0)));
        assert_eq!(number("256-"), Some((256.0, f64::INFINITY)));
        assert_eq!(number("-5"), Some((-5.0, -5.0)));
        assert_eq!(number("-5--3"), Some((-5.0, -3.0)));
        assert_eq!(number("1e-3-2"), Some((0.001, 2.0)));
        assert_eq!(number("-inf-2"), Some((f64::NEG_INFINITY, 2.0)));
        assert_eq!(size("-5"), Some((f64::NEG_INFINITY, 5.0)));
        assert_eq!(size("7"), Some((7.0, 7.0)));
        for wrong in ["", "-", "a", "5-3", "1-2-3", "nan", "NaN-3", "1-x"] {
            assert_eq!((number(wrong), size(wrong)), (None, None), "{wrong}");
        }
    }
}
