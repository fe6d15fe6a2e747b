//! `fractal:FAMILY?key=value&...`: the text of a formula.

use crate::{Draw, Formula, Frame, Sampler, family::Family, recipe_help::RECIPE_KEYS, space};
use fdconvert_core::{Error, Result};
use std::{collections::BTreeMap, fmt::Display, io, ops::Not, path::Path, str::FromStr};

pub(crate) const SCHEME: &str = "fractal:";

/// A parsed recipe, before its categories are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    family: Family,
    classes: Option<usize>,
    says_size: bool,
    /// The formula without its categories.
    formula: Formula,
}

/// Keys of families with points.
const POINT_KEYS: [&str; 7] = ["points", "draw", "weight", "flips", "sampler", "min_fill", "pad"];

/// Keys among them that do not apply to views of three-dimensional fractals.
const PLANE_KEYS: [&str; 4] = ["draw", "flips", "min_fill", "pad"];

const VIEW_KEYS: [&str; 2] = ["views", "turn"];

impl Recipe {
    /// Returns true if a source is a recipe rather than a path.
    #[must_use]
    pub fn is_recipe(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Returns the recipe that a path contains, if it is one.
    #[must_use]
    pub fn in_place_of(path: &Path) -> Option<&str> {
        path.to_str().filter(|text| Self::is_recipe(text))
    }

    /// Parses a recipe.
    ///
    /// # Errors
    /// `Usage`, naming the key and its allowed values.
    pub fn parse(text: &str) -> Result<Self> {
        let body = text.strip_prefix(SCHEME).ok_or_else(|| {
            Error::usage("fractal", format!("`{text}` does not begin with `{SCHEME}`"))
        })?;
        let (name, query) = body.split_once('?').unwrap_or((body, ""));
        let mut keys = Keys::parse(query)?;
        let family = Family::take(name, &mut keys)?;
        let defaults = family.defaults();
        if !family.has_points() {
            keys.refuse(&POINT_KEYS, format_args!("figures of {name}"))?;
        } else if family.has_views() {
            keys.refuse(&PLANE_KEYS, format_args!("views of {name}"))?;
        }
        if !family.has_views() {
            keys.refuse(&VIEW_KEYS, format_args!("images of {name}"))?;
        }

        let says_size = keys.has("size");
        let size = keys.or("size", defaults.size)?;
        let points = keys.or("points", defaults.points)?;
        let frame = Frame::new(size, keys.or("pad", Frame::DEFAULT_PAD)?, points)?;
        let draw = keys.choice("draw", Draw::from_name, Draw::ALL.map(Draw::name))?;
        let sampler =
            keys.choice("sampler", Sampler::from_name, Sampler::ALL.map(Sampler::name))?;
        let sampler = sampler.unwrap_or(defaults.sampler);
        if family.has_views() != (sampler == Sampler::MvFractaldbV1) {
            let what = format!("{} does not draw what {name} has", sampler.name());
            return Err(Error::usage("sampler", what));
        }
        let weight = match keys.take("weight").as_deref() {
            None => defaults.weight,
            Some("none") => None,
            Some(step) => Some(number("weight", step)?),
        };
        let flips = match keys.or("flips", if defaults.flips { 4 } else { 1 })? {
            4 => true,
            1 => false,
            other => return Err(Error::usage("flips", format!("{other} is neither 1 nor 4"))),
        };
        let varies = match keys.take("vary").as_deref() {
            None | Some("none") => false,
            Some("epoch") => true,
            Some(other) => {
                return Err(Error::usage("vary", format!("`{other}` is neither epoch nor none")));
            }
        };
        let redraws = sampler == Sampler::Lanes64V1 && weight.is_some();
        let mut formula = Formula {
            family: family.name().to_owned(),
            categories: Vec::new(),
            weight,
            patches: 1,
            flips,
            frame,
            draw: draw.unwrap_or(defaults.draw),
            sampler,
            seed: keys.or("seed", 0)?,
            min_fill: keys.or("min_fill", if redraws { 0.01 } else { 0.0 })?,
            turn: keys.or("turn", defaults.turn)?,
            varies,
        };
        // Points of the exact sampler have no instances beyond the rows of weights.
        let at_once = formula.instances();
        let fixed =
            family.has_points() && sampler == Sampler::FractaldbV1 && !formula.draw.is_patch();
        let instances = if family.has_views() {
            views_of_all(&mut keys, at_once)?
        } else {
            keys.or("instances", if fixed { at_once } else { defaults.instances })?
        };
        let patches = instances / at_once;
        formula.patches = match u32::try_from(patches) {
            Ok(patches) if patches > 0 && instances % at_once == 0 => patches,
            _ => {
                let what = format!(
                    "{instances} is not a multiple of {at_once}: {} rows of weights times {} flips",
                    formula.n_rows(),
                    at_once / u64::from(formula.n_rows())
                );
                return Err(Error::usage("instances", what));
            }
        };
        let classes = keys.take("classes").map(|text| number("classes", &text)).transpose()?;
        keys.nothing_left()?;
        Ok(Self { family, classes, says_size, formula })
    }

    /// Returns the recipe with all defaults spelled out, for records: it makes the same images
    /// after a default has changed. A path is left out, as it affects no bytes.
    #[must_use]
    pub fn name(&self) -> String {
        let formula = &self.formula;
        let mut keys = Vec::new();
        let mut put = |key: &str, value: String| keys.push(format!("{key}={value}"));
        if let Some(classes) =
            self.classes.or(self.family.has_path().not().then_some(self.family.default_classes()))
        {
            put("classes", classes.to_string());
        }
        put("instances", formula.instances().to_string());
        put("size", formula.frame.size().to_string());
        let weight = formula.weight.map_or("none".into(), |step| step.to_string());
        if self.family.has_views() {
            put("points", formula.frame.points().to_string());
            put("weight", weight);
            put("sampler", formula.sampler.name().into());
            put("views", formula.patches.to_string());
            put("turn", formula.turn.to_string());
        } else if self.family.has_points() {
            put("points", formula.frame.points().to_string());
            put("pad", formula.frame.pad().to_string());
            put("draw", formula.draw.name().into());
            put("weight", weight);
            put("flips", if formula.flips { "4" } else { "1" }.into());
            put("sampler", formula.sampler.name().into());
            put("min_fill", formula.min_fill.to_string());
        }
        put("seed", formula.seed.to_string());
        put("vary", if formula.varies { "epoch" } else { "none" }.into());
        self.family.put_keys(&mut put);
        format!("{SCHEME}{}?{}", self.family.name(), keys.join("&"))
    }

    /// Returns the number of requested categories.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes.unwrap_or(self.family.default_classes())
    }

    /// Returns true if it sets the size of images, instead of using the family's default.
    #[must_use]
    pub fn says_size(&self) -> bool {
        self.says_size
    }

    /// Finds the categories. `progress` gets their number now and then, and stops the search by
    /// returning false.
    ///
    /// # Errors
    /// `Usage` when there are too few or none, `Io` and `Corrupt` for categories in files,
    /// `Cancelled` when `progress` returns false.
    pub fn resolve(&self, progress: &mut dyn FnMut(usize) -> bool) -> Result<Formula> {
        let categories = self.family.categories(self.classes, progress)?;
        let formula = Formula { categories, ..self.formula.clone() };
        formula.check()?;
        Ok(formula)
    }

    /// As [`resolve`](Self::resolve), without a way to stop it, and on threads that end with it: a
    /// process may be forked afterwards, and resolve recipes on both sides.
    ///
    /// # Errors
    /// As for `resolve`; `Io` when the system cannot start threads.
    pub fn resolve_apart(&self) -> Result<Formula> {
        let pool = rayon::ThreadPoolBuilder::new().build();
        let pool = pool.map_err(|cause| Error::io("start", "threads")(io::Error::other(cause)))?;
        pool.install(|| self.resolve(&mut |_| true))
    }
}

/// The keys of a recipe that are not yet used.
pub(crate) struct Keys(BTreeMap<String, String>);

impl Keys {
    fn parse(query: &str) -> Result<Self> {
        let mut keys = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let twice = keys.insert(key.to_string(), value.into_owned()).is_some();
            if twice {
                return Err(Error::usage("fractal", format!("`{key}` is given twice")));
            }
        }
        Ok(Self(keys))
    }

    fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn take(&mut self, key: &'static str) -> Option<String> {
        self.0.remove(key)
    }

    /// Takes a number, or the default when the key is absent.
    pub(crate) fn or<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
        default: T,
    ) -> Result<T> {
        self.take(key).map_or(Ok(default), |text| number(key, &text))
    }

    fn choice<T, const N: usize>(
        &mut self,
        key: &'static str,
        from_name: fn(&str) -> Option<T>,
        names: [&str; N],
    ) -> Result<Option<T>> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let wrong = || {
            Error::usage(key, format!("unknown `{text}`; expected one of: {}", names.join(", ")))
        };
        from_name(&text).ok_or_else(wrong).map(Some)
    }

    fn refuse(&self, keys: &[&'static str], what: impl Display) -> Result<()> {
        match keys.iter().find(|key| self.has(key)) {
            Some(key) => Err(Error::usage(*key, format!("{what} have none"))),
            None => Ok(()),
        }
    }

    fn nothing_left(&self) -> Result<()> {
        let Some(key) = self.0.keys().next() else { return Ok(()) };
        let known: Vec<_> = RECIPE_KEYS.iter().map(|key| key.name).collect();
        // A key of another family is known, but has no meaning here.
        let what = format!("no key `{key}` for this family; there are: {}", known.join(", "));
        Err(Error::usage("fractal", what))
    }
}

/// Returns the images of a class, with several views of each instance; the number of instances is
/// that of the rows of weights.
fn views_of_all(keys: &mut Keys, n_rows: u64) -> Result<u64> {
    let mut key = |name| keys.take(name).map(|text| number::<u64>(name, &text)).transpose();
    let (views, instances) = (key("views")?, key("instances")?);
    let n_views = views.unwrap_or(space::VIEWS);
    let of_all = n_rows.saturating_mul(n_views);
    match instances {
        Some(instances) if views.is_some() && instances != of_all => {
            let what = format!("{n_views} views for each of {n_rows} rows of weights are {of_all}");
            Err(Error::usage("instances", format!("{instances}: {what}")))
        }
        Some(instances) => Ok(instances),
        None => Ok(of_all),
    }
}

fn number<T: FromStr<Err: Display>>(key: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(|cause| Error::usage(key, format!("`{text}`: {cause}")))
}
