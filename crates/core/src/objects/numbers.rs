//! Numbers object classes by a list of names.
use super::ObjectClasses;
use std::{collections::BTreeMap, sync::Arc};

/// Distinct class names, by number.
#[derive(Debug, Clone)]
pub struct ClassNumbers {
    names: Arc<[String]>,
    numbers: BTreeMap<String, i64>,
}

/// A number of the list and its name; -1 for an object without a class.
pub type NumberedClass<'a> = (i64, Option<&'a str>);

impl ClassNumbers {
    /// Creates the list from these names.
    ///
    /// # Errors
    /// The duplicate name.
    pub fn new(names: Arc<[String]>) -> Result<Self, String> {
        let mut numbers = BTreeMap::new();
        for (number, name) in (0_i64..).zip(names.iter()) {
            if numbers.insert(name.clone(), number).is_some() {
                return Err(name.clone());
            }
        }
        Ok(Self { names, numbers })
    }

    /// Returns the names, by number.
    #[must_use]
    pub fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    /// Returns the number of a name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// Returns the class of an object by its name, or by its number if its document has no names.
    ///
    /// # Errors
    /// A description of the fault: a class that is not in the list, or an ambiguous number.
    pub fn of_object<'a>(
        &'a self,
        found: &ObjectClasses,
        at: usize,
    ) -> Result<NumberedClass<'a>, String> {
        let n = self.names.len();
        let name = found.names.as_ref().and_then(|names| names.get(at)?.as_ref());
        let number = found.numbers.as_ref().and_then(|numbers| numbers.get(at)).copied();
        match (name, number.unwrap_or(-1)) {
            (Some(name), _) => match self.numbers.get_key_value(name) {
                Some((name, number)) => Ok((*number, Some(name))),
                None => Err(format!(
                    "it has an object of the class `{name}`, which is not on the list of {n}"
                )),
            },
            // No name means no class.
            (None, -1) => Ok((-1, None)),
            (None, number) if found.names.is_some() => Err(format!(
                "it has an object of the class {number}, which has no name although others have one"
            )),
            (None, number)
                if self.numbers.get(&number.to_string()).is_some_and(|it| *it != number) =>
            {
                Err(format!(
                    "it has an object of the class {number} without a name, which could be the class \
                     `{number}` of the list or the one in its place"
                ))
            }
            (None, number) => {
                let own = usize::try_from(number).ok().and_then(|at| self.names.get(at));
                let name = own.ok_or_else(|| {
                    format!("it has an object of the class {number} of {n}, counted from 0")
                })?;
                Ok((number, Some(name)))
            }
        }
    }
}
