//! Files of categories. FractalDB has one file `NNNNN.csv` for each, with one line per map and
//! seven columns `a,b,c,d,e,f,p` printed as C's `%.18e`, which keeps every bit of a double.
//! MV-FractalDB has files `NNNNNN.csv` of thirteen columns `a,...,l,p`.

use crate::{Category, Shape, System};
use fdconvert_core::{Error, Result};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

const FORMAT: &str = "category";

/// Far more than the eight lines of the largest system.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Columns of a map of the plane: six parameters and a probability.
const COLUMNS: usize = 7;

/// Columns of a map of space: twelve parameters and a probability.
const SPACE_COLUMNS: usize = 13;

impl Category {
    /// Reads one category.
    ///
    /// # Errors
    /// `Io`; `Corrupt`, naming file, line and column.
    pub fn read(path: &Path) -> Result<Self> {
        let file = fs::File::open(path).map_err(Error::io("open", path))?;
        let mut text = String::new();
        // One byte more distinguishes a file that is too long from one that fits.
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(Error::io("read", path))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            let what = format!("more than {MAX_FILE_BYTES} bytes; a category has a few hundred");
            return Err(Error::corrupt(FORMAT, path, MAX_FILE_BYTES, what));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, shape: parse(&text, path)? })
    }

    /// Reads all categories in a folder, in the order of their names: files `NNNNN.csv` (any
    /// digits) in the folder, or in its folders `csv0`, `csv1`, ... as published. Other files, such
    /// as tables of weights, are ignored.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and `Usage` if there are none, or two with the same name.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>> {
        let mut paths = list(folder)?;
        paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
        if paths.is_empty() {
            let what =
                format!("{} has no category: neither *.csv nor csv0/*.csv", folder.display());
            return Err(Error::usage("path", what));
        }
        let twice = paths.windows(2).find(|pair| pair[0].file_stem() == pair[1].file_stem());
        if let Some([first, second]) = twice {
            let what = format!("{} and {} have one name", first.display(), second.display());
            return Err(Error::usage("path", what));
        }
        paths.iter().map(|path| Self::read(path)).collect()
    }
}

/// Returns the text of a system's file, the same bytes that numpy's `savetxt` writes.
pub(crate) fn to_csv<const N: usize>(system: &System<N>) -> String {
    let maps = system.maps().iter().zip(system.probabilities());
    let lines = maps.map(|(map, probability)| {
        let values = map.iter().chain([probability]).map(|value| scientific(*value));
        values.collect::<Vec<_>>().join(",") + "\n"
    });
    lines.collect()
}

/// Returns true if the first category of a folder, or that of a file, is three-dimensional. False
/// for unreadable files: reading them later reports the error.
pub(crate) fn is_of_space(path: &Path) -> bool {
    let first =
        || if path.is_dir() { list(path).ok()?.into_iter().min() } else { Some(path.into()) };
    let read = |path: PathBuf| {
        let mut text = String::new();
        fs::File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
        Some(columns(&text) == SPACE_COLUMNS)
    };
    first().and_then(read).unwrap_or(false)
}

/// Lists the files of [`Category::read_all`], in any order.
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list the folder", folder))? {
        let path = entry.map_err(Error::io("list the folder", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name.strip_prefix("csv").is_some_and(is_number) {
                let below = fs::read_dir(&path).map_err(Error::io("list the folder", &path))?;
                for entry in below {
                    let entry = entry.map_err(Error::io("list the folder", &path))?;
                    files.push(entry.path());
                }
            }
        } else {
            files.push(path);
        }
    }
    files.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        path.extension().is_some_and(|extension| extension == "csv") && stem.is_some_and(is_number)
    });
    Ok(files)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse(text: &str, path: &Path) -> Result<Shape> {
    if columns(text) == SPACE_COLUMNS {
        return parse_maps(text, path, SPACE_COLUMNS).map(Shape::Space);
    }
    parse_maps(text, path, COLUMNS).map(Shape::Ifs)
}

/// Counts the columns of the first line with a map.
fn columns(text: &str) -> usize {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or(0, |line| line.split(',').count())
}

fn parse_maps<const N: usize>(text: &str, path: &Path, n_columns: usize) -> Result<System<N>> {
    let (mut maps, mut probabilities) = (Vec::new(), Vec::new());
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let corrupt = |what: String| Error::corrupt(FORMAT, path, offset, what);
        if !line.trim().is_empty() {
            let values = numbers(line).map_err(corrupt)?;
            match values.split_first_chunk() {
                Some((map, [probability])) => {
                    maps.push(*map);
                    probabilities.push(*probability);
                }
                _ => {
                    let n = values.len();
                    return Err(corrupt(format!("a line of {n} columns, not {n_columns}")));
                }
            }
            if maps.len() > System::MAX_MAPS {
                return Err(corrupt(format!("more than {} maps", System::MAX_MAPS)));
            }
        }
        offset += line.len() as u64;
    }
    System::new(maps, probabilities)
        .map_err(|error| Error::corrupt(FORMAT, path, 0, error.to_string()))
}

fn numbers(line: &str) -> Result<Vec<f64>, String> {
    let number = |(column, text): (usize, &str)| {
        let text = text.trim();
        text.parse().map_err(|_| format!("column {}: `{text}` is not a number", column + 1))
    };
    line.split(',').enumerate().map(number).collect()
}

/// Formats as C's `%.18e`.
fn scientific(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    c_exponent(format!("{value:.18e}"))
}

/// Replaces Rust's exponent by that of C and Python: a sign and two digits.
pub(crate) fn c_exponent(text: String) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn numbers_as_numpy_prints_them() {
        for (value, text) in [
            (0.583784806325405, "5.837848063254049702e-01"),
            (-0.06844673029160009, "-6.844673029160008859e-02"),
            (1.0, "1.000000000000000000e+00"),
            (0.0, "0.000000000000000000e+00"),
            (1e-300, "1.000000000000000025e-300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(scientific(value), text);
        }
    }

    fn error(text: &str) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let error = Category::read(file.path()).unwrap_err().chain();
        error.replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn bad_files_are_named_with_line_and_column() {
        assert!(error("").contains("a system has 1 to 8 maps, not 0"));
        assert!(
            error("1,2,3,4,5,6,7\n1,2,x,4,5,6,7\n").contains("at byte 14: column 3: `x` is no")
        );
        assert!(error("1,2,3\n").contains("a line of 3 columns, not 7"));
        let thirteen = "1,2,3,4,5,6,7,8,9,10,11,12,13\n";
        assert!(error(&format!("{thirteen}1,2,3,4,5,6,7\n")).contains("of 7 columns, not 13"));
        assert!(error(&thirteen.repeat(9)).contains("more than 8 maps"));
        assert!(error(&"1,2,3,4,5,6,7\n".repeat(9)).contains("more than 8 maps"));
        assert!(error(&" ".repeat(70_000)).contains("more than 65536 bytes"));
    }

    #[test]
    fn folders_are_read_flat_and_as_published() {
        let folder = tempfile::tempdir().unwrap();
        let line = "1,0,0,1,0,0,1\n";
        fs::create_dir_all(folder.path().join("csv1")).unwrap();
        fs::create_dir_all(folder.path().join("other")).unwrap();
        for name in
            ["00001.csv", "csv1/00000.csv", "other/00002.csv", "weights_0.4.csv", "00009.txt"]
        {
            fs::write(folder.path().join(name), line).unwrap();
        }
        let names = |folder: &Path| {
            let categories = Category::read_all(folder).unwrap();
            categories.into_iter().map(|category| category.name).collect::<Vec<_>>()
        };
        assert_eq!(names(folder.path()), ["00000", "00001"]);
        assert_eq!(names(&folder.path().join("other")), ["00002"]);
        fs::write(folder.path().join("csv1/00001.csv"), line).unwrap();
        let error = Category::read_all(folder.path()).unwrap_err().to_string();
        assert!(error.contains("have one name"), "{error}");
    }
}
