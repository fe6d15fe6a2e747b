//! Column names: finds the column of file names.

/// Possible names of the column of file names, in order of preference. Lower case, without
/// separators.
const PATHS: [&str; 18] = [
    "path",
    "filename",
    "image",
    "filepath",
    "file",
    "imagepath",
    "imagename",
    "imagefile",
    "imagefilename",
    "img",
    "imgpath",
    "imgname",
    "imgfile",
    "fname",
    "imageid",
    "id",
    "idcode",
    "key",
];

/// Returns true if file names in that column may be numbers.
pub(super) fn is_id(name: &str) -> bool {
    matches!(plain(name).as_str(), "id" | "imageid" | "idcode")
}

/// A name in lower case, without separators.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Checks the column names and returns the position of the column of file names.
pub(super) fn check(names: &[String]) -> Result<usize, String> {
    let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let path = PATHS.iter().find_map(|path| plain.iter().position(|name| name == path));
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} has no name", i + 1));
        }
        if names.iter().take(i).any(|earlier| earlier == name) {
            return Err(format!("two columns are called `{name}`"));
        }
        if name == super::IMAGE && path != Some(i) {
            return Err(format!(
                "a column is called `{name}`, which is the field of the file itself; call it \
                 something else"
            ));
        }
    }
    path.ok_or_else(|| {
        let seen = names.join("`, `");
        let cure = match names {
            [only] if only.contains(';') => "; separate cells by commas",
            [only] if only.contains('\t') => "; call a file whose cells tabs separate .tsv",
            _ => "",
        };
        format!(
            "the first line has to name a column with the names of files: `path`, `filename`, \
             `image`, `image_path` or `id`; it names `{seen}`{cure}"
        )
    })
}
