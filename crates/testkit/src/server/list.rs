//! S3's list of objects, version 2, in pages.
use super::http::{Request, Response};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

const PAGE: usize = 1000;

pub(super) fn list(root: &Path, request: &Request) -> Response {
    let bucket = root.join(request.path.trim_end_matches('/'));
    if !bucket.is_dir() {
        return Response::plain(404, "NoSuchBucket");
    }
    let get = |name: &str| request.query.get(name).map_or("", String::as_str);
    let (prefix, delimiter) = (get("prefix"), get("delimiter"));
    let after = match get("continuation-token") {
        "" => get("start-after"),
        token => token,
    };
    let mut keys = Vec::new();
    collect(&bucket, &bucket, &mut keys);
    keys.sort();
    let (mut text, mut folders, mut n_keys, mut next) = (String::new(), BTreeSet::new(), 0, "");
    for (key, len) in keys.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after)
    {
        let rest = &key[prefix.len()..];
        if let Some((folder, _)) = rest.split_once('/').filter(|_| delimiter == "/") {
            folders.insert(format!("{prefix}{folder}/"));
            continue;
        }
        if n_keys == PAGE {
            break;
        }
        n_keys += 1;
        next = key;
        let key = escape(key);
        let _ = write!(
            text,
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>\"x\"</ETag><Size>{len}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        );
    }
    for folder in &folders {
        let _ =
            write!(text, "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escape(folder));
    }
    let more = if n_keys == PAGE {
        format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>",
            escape(next)
        )
    } else {
        "<IsTruncated>false</IsTruncated>".into()
    };
    Response::xml(200, &format!("<ListBucketResult>{more}{text}</ListBucketResult>"))
}

fn collect(bucket: &Path, folder: &Path, keys: &mut Vec<(String, u64)>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.collect::<Vec<PathBuf>>() {
        if path.is_dir() {
            collect(bucket, &path, keys);
        } else {
            let key = path.strip_prefix(bucket).unwrap().to_str().unwrap().to_owned();
            keys.push((key, fs::metadata(&path).unwrap().len()));
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
