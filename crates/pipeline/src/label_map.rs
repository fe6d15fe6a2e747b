use std::{collections::BTreeSet, fmt, str::FromStr};

/// New names for categories, and which of them are left out: `car,truck=vehicle; *=drop`.
///
/// Rules are separated by `;`, and each has the names of categories, separated by `,`, an `=`, and
/// their new name, or `drop`. `*` stands for all categories without a rule, which else stay. A name
/// with one of these characters, or called `drop`, is in double quotes.
///
/// ```
/// use fdconvert_pipeline::LabelMap;
///
/// let map: LabelMap = "car, truck = vehicle; *=drop".parse()?;
/// assert_eq!(map.of("truck"), Some("vehicle"));
/// assert_eq!(map.of("cat"), None);
/// assert_eq!(map.to_string(), "car,truck=vehicle;*=drop");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelMap {
    /// Names and their target, which is `None` for those that are left out.
    rules: Vec<(Vec<String>, Option<String>)>,
    others: Others,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Others {
    Stay,
    Become(Option<String>),
}

const SPECIAL: [char; 5] = ['=', ',', ';', '*', '"'];
const DROP: &str = "drop";

impl LabelMap {
    /// Returns the new name of a category; `None` if it is left out.
    #[must_use]
    pub fn of<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let rule = self.rules.iter().find(|(names, _)| names.iter().any(|it| it == name));
        match (rule, &self.others) {
            (Some((_, target)), _) | (None, Others::Become(target)) => target.as_deref(),
            (None, Others::Stay) => Some(name),
        }
    }

    /// Iterates over the names with a rule.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(|(names, _)| names).map(String::as_str)
    }
}

impl FromStr for LabelMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut map = Self { rules: Vec::new(), others: Others::Stay };
        let mut known = BTreeSet::new();
        for rule in split(text, ';')?.into_iter().filter(|rule| !rule.trim().is_empty()) {
            let wrong = |what: &str| Err(format!("`{}`: {what}", rule.trim()));
            let sides = split(rule, '=')?;
            let [names, target] = sides[..] else {
                return wrong("a rule is names, `=` and a new name, as in car,truck=vehicle");
            };
            let target = match target.trim() {
                DROP => None,
                target => Some(name(target)?),
            };
            let names = split(names, ',')?;
            if names.iter().any(|name| name.trim() == "*") {
                if names.len() > 1 || map.others != Others::Stay {
                    return wrong("`*` stands once and alone for all other categories");
                }
                map.others = Others::Become(target);
                continue;
            }
            let names =
                names.into_iter().map(|it| name(it.trim())).collect::<Result<Vec<_>, _>>()?;
            for name in &names {
                if !known.insert(name.clone()) {
                    return wrong(&format!("`{name}` has two rules"));
                }
            }
            map.rules.push((names, target));
        }
        if map.rules.is_empty() && map.others == Others::Stay {
            return Err("there is no rule; one is car,truck=vehicle".to_owned());
        }
        Ok(map)
    }
}

/// Splits at a character outside of quotes.
fn split(text: &str, at: char) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (place, char) in text.char_indices() {
        match char {
            '"' => is_quoted = !is_quoted,
            char if char == at && !is_quoted => {
                parts.extend(text.get(start..place));
                start = place + 1;
            }
            _ => {}
        }
    }
    if is_quoted {
        return Err(format!("`{text}`: a closing quote is missing"));
    }
    parts.extend(text.get(start..));
    Ok(parts)
}

fn name(text: &str) -> Result<String, String> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inner.unwrap_or(text) {
        "" => Err("a name is empty; write names as in car,truck=vehicle".to_owned()),
        other if inner.is_none() && other.contains(SPECIAL) => {
            Err(format!("`{other}` needs double quotes"))
        }
        name => Ok(name.to_owned()),
    }
}

impl fmt::Display for LabelMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &String| match name.contains(SPECIAL) || name == DROP {
            true => format!("\"{name}\""),
            false => name.clone(),
        };
        let target = |to: &Option<String>| to.as_ref().map_or_else(|| DROP.to_owned(), shown);
        let mut rules: Vec<String> = Vec::new();
        for (names, to) in &self.rules {
            let names: Vec<String> = names.iter().map(shown).collect();
            rules.push(format!("{}={}", names.join(","), target(to)));
        }
        if let Others::Become(to) = &self.others {
            rules.push(format!("*={}", target(to)));
        }
        f.write_str(&rules.join(";"))
    }
}

#[cfg(test)]
mod tests {
    use super::LabelMap;

    #[test]
    fn maps_are_written_as_they_are_read() {
        for (text, shown) in [
            ("a=b", "a=b"),
            (" a , c = b ;", "a,c=b"),
            ("\"a,b\"=\"drop\"; *=x", "\"a,b\"=\"drop\";*=x"),
            ("dining table=table;*=drop", "dining table=table;*=drop"),
        ] {
            let map: LabelMap = text.parse().unwrap();
            assert_eq!(map.to_string(), shown);
            assert_eq!(shown.parse::<LabelMap>().unwrap(), map);
        }
        let map: LabelMap = "\"a,b\"=\"drop\"; c=drop".parse().unwrap();
        assert_eq!((map.of("a,b"), map.of("c"), map.of("d")), (Some("drop"), None, Some("d")));
        for (text, part) in [
            ("", "no rule"),
            ("a", "a rule is names"),
            ("a=b=c", "a rule is names"),
            ("a=b;a=c", "two rules"),
            ("*,a=b", "alone"),
            ("*=a;*=b", "alone"),
            ("a=", "empty"),
            ("\"a=b", "closing quote"),
            ("a=b\"c\"", "needs double quotes"),
        ] {
            let said = text.parse::<LabelMap>().unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
