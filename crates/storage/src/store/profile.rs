//! Reads the files of `aws configure`: `~/.aws/credentials` and `~/.aws/config`, like the AWS
//! command. `object_store` supports the environment and the machine's role, but not these files.
use crate::os;
use configparser::ini::Ini;
use std::path::PathBuf;

/// Names of options in the files, and in `object_store`.
const NAMES: &[(&str, &str)] = &[
    ("aws_access_key_id", "aws_access_key_id"),
    ("aws_secret_access_key", "aws_secret_access_key"),
    ("aws_session_token", "aws_session_token"),
    ("region", "aws_region"),
    ("endpoint_url", "aws_endpoint"),
];

/// Options of the current profile (`AWS_PROFILE`, else `default`); empty if there are no files. A
/// file that cannot be parsed counts as missing: the AWS command reports what is wrong with it.
pub(crate) fn options(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
    let file = |name: &str, default: &str| {
        let home = || variable(os::HOME).map(|home| PathBuf::from(home).join(".aws").join(default));
        let mut ini = Ini::new_cs();
        ini.load(variable(name).map(PathBuf::from).or_else(home)?).ok()?;
        Some(ini)
    };
    let mut options = Vec::new();
    // The credentials file comes last, so it takes precedence.
    let files = [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    for (name, default) in files {
        let Some(ini) = file(name, default) else { continue };
        // In the config file, all profiles except the default one are called `profile NAME`.
        let sections = [profile.clone(), format!("profile {profile}")];
        for &(theirs, ours) in NAMES {
            let value = sections.iter().find_map(|section| ini.get(section, theirs));
            options.extend(value.map(|value| (ours.to_owned(), value)));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::options;
    use crate::os;
    use std::fs;

    #[test]
    fn profiles_are_read_as_the_aws_command_does() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".aws");
        fs::create_dir(&folder).unwrap();
        let config = "[default]\nregion = eu-north-1\n[profile lab]\nregion=us-west-2\n\
                      endpoint_url=http://lab:9000\n";
        fs::write(folder.join("config"), config).unwrap();
        let credentials = "[default]\naws_access_key_id = A\naws_secret_access_key = B\n\
                           [lab]\naws_access_key_id=C\n";
        fs::write(folder.join("credentials"), credentials).unwrap();
        let path = home.path().to_str().unwrap().to_owned();
        let of = |profile: Option<&str>| {
            let found = options(|name| match name {
                os::HOME => Some(path.clone()),
                "AWS_PROFILE" => profile.map(Into::into),
                _ => None,
            });
            found.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let default = ["aws_region=eu-north-1", "aws_access_key_id=A", "aws_secret_access_key=B"];
        assert_eq!(of(None), default);
        let lab = ["aws_region=us-west-2", "aws_endpoint=http://lab:9000", "aws_access_key_id=C"];
        assert_eq!(of(Some("lab")), lab);
        assert!(of(Some("other")).is_empty());
        assert!(options(|_| None).is_empty());
    }
}
