//! Multipart uploads that were started and never finished: invisible, but charged for.
//!
//! `object_store` starts and aborts uploads but cannot list them, so this module sends that request
//! (`ListMultipartUploads`,
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html>).
use crate::store::{
    client::{self, Client},
    count, error,
    location::{Base, Location, Scheme},
};
use fdconvert_core::{Error, Result};
use object_store::{
    aws::{AmazonS3ConfigKey, AwsAuthorizer},
    client::{HttpConnector as _, HttpRequestBody, ReqwestConnector},
    multipart::MultipartStore as _,
};
use serde::Deserialize;
use std::{
    io, mem,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use url::Url;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Listed {
    upload: Vec<Upload>,
    is_truncated: bool,
    next_key_marker: String,
    next_upload_id_marker: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Upload {
    key: String,
    upload_id: String,
    initiated: String,
}

/// Aborts unfinished uploads of any tool to an object, or to objects below a folder, that started
/// at least `older_than` ago; with `dry` only lists them. Returns the objects' URLs.
///
/// # Errors
/// `Usage` for an invalid URL, and for stores other than S3, which abort them automatically or by a
/// rule of the bucket; `Io`.
pub(crate) fn abort_unfinished(
    path: &Path,
    older_than: Duration,
    dry: bool,
) -> Result<Vec<PathBuf>> {
    let location = Location::parse(path)?;
    let Base::Bucket { scheme: Scheme::S3, name: bucket } = &location.base else {
        let what = format!(
            "{} is not in S3: Azure gives up unfinished uploads after a week by itself, Google by \
             the bucket's lifecycle rule AbortIncompleteMultipartUpload, and others take none",
            path.display()
        );
        return Err(Error::usage("OUT", what));
    };
    // First, because creating a client sets up what the requests below need.
    let client = Client::of(&location)?;
    let builder = client::s3(bucket);
    let store = builder.clone().build().map_err(|cause| error::of("open", &location, cause))?;
    let (mut found, mut after) = (Vec::new(), (String::new(), String::new()));
    let root = bucket_url(&builder, bucket).ok_or_else(|| {
        Error::usage("location", format!("{} has no valid endpoint", path.display()))
    })?;
    loop {
        let mut url = root.clone();
        url.query_pairs_mut()
            .append_pair("uploads", "")
            .append_pair("prefix", location.key.as_ref());
        if !after.0.is_empty() {
            url.query_pairs_mut()
                .append_pair("key-marker", &after.0)
                .append_pair("upload-id-marker", &after.1);
        }
        let listed = client.wait(list(&builder, &store, &url));
        let listed = listed.map_err(Error::io("list the uploads of", path))?;
        found.extend(listed.upload);
        let before =
            mem::replace(&mut after, (listed.next_key_marker, listed.next_upload_id_marker));
        if !listed.is_truncated {
            break;
        }
        if before == after {
            let cause = io::Error::other("the store lists the same page again and again");
            return Err(Error::io("list the uploads of", path)(cause));
        }
    }
    let mut given_up = Vec::new();
    for upload in found.iter().filter(|upload| is_below(&upload.key, location.key.as_ref())) {
        if !is_older(&upload.initiated, older_than) {
            continue;
        }
        if !dry {
            count::request();
            let key = object_store::path::Path::from(upload.key.as_str());
            let aborted = client.write(store.abort_multipart(&key, &upload.upload_id));
            aborted.map_err(|cause| error::of("give up an upload of", &location, cause))?;
        }
        given_up.push(PathBuf::from(format!("s3://{bucket}/{}", upload.key)));
    }
    Ok(given_up)
}

/// Returns true if a key is that of the object, or of one below the folder.
fn is_below(key: &str, wanted: &str) -> bool {
    wanted.is_empty()
        || key.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An unreadable time counts as now.
#[allow(clippy::disallowed_methods, reason = "it is compared with the store's clock, and not kept")]
fn is_older(begun: &str, than: Duration) -> bool {
    let now = SystemTime::now();
    let begun = humantime::parse_rfc3339(begun).unwrap_or(now);
    now.duration_since(begun).unwrap_or_default() >= than
}

fn bucket_url(builder: &object_store::aws::AmazonS3Builder, bucket: &str) -> Option<Url> {
    let get = |key| builder.get_config_value(&key);
    let in_host = get(AmazonS3ConfigKey::VirtualHostedStyleRequest).is_some_and(|it| it == "true");
    let url = match client::s3_endpoint(builder) {
        // Such an endpoint contains the bucket in its host name.
        Some(endpoint) if in_host => endpoint,
        Some(endpoint) => format!("{}/{bucket}", endpoint.trim_end_matches('/')),
        None => {
            let region = get(AmazonS3ConfigKey::Region).unwrap_or_else(|| "us-east-1".into());
            format!("https://s3.{region}.amazonaws.com/{bucket}")
        }
    };
    Url::parse(&url).ok()
}

async fn list(
    builder: &object_store::aws::AmazonS3Builder,
    store: &object_store::aws::AmazonS3,
    url: &Url,
) -> io::Result<Listed> {
    let get = |key| builder.get_config_value(&key);
    let request = http::Request::get(url.as_str()).body(HttpRequestBody::empty());
    let mut request = request.map_err(io::Error::other)?;
    let is_signed = get(AmazonS3ConfigKey::SkipSignature).is_none_or(|it| it != "true");
    if is_signed {
        let credential = store.credentials().get_credential().await.map_err(io::Error::other)?;
        let region = get(AmazonS3ConfigKey::Region).unwrap_or_else(|| "us-east-1".into());
        let authorizer = AwsAuthorizer::new(&credential, "s3", &region);
        authorizer.try_authorize(&mut request, None).map_err(io::Error::other)?;
    }
    let options = client::client_options(&[]).with_allow_http(true);
    let http = ReqwestConnector::default().connect(&options).map_err(io::Error::other)?;
    count::request();
    let answer = http.execute(request).await.map_err(io::Error::other)?;
    let status = answer.status();
    let text = answer.into_body().bytes().await.map_err(io::Error::other)?;
    if !status.is_success() {
        let text = String::from_utf8_lossy(&text);
        let code = text.split("<Code>").nth(1).and_then(|rest| rest.split("</Code>").next());
        return Err(io::Error::other(format!("{status}: {}", code.unwrap_or("no reason given"))));
    }
    quick_xml::de::from_reader(&*text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_uploads_are_read() {
        let text = "<ListMultipartUploadsResult><Bucket>b</Bucket><IsTruncated>true</IsTruncated>\
                    <NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker>\
                    <Upload><Key>a/b.tar</Key><UploadId>x</UploadId>\
                    <Initiated>2020-01-02T03:04:05.000Z</Initiated></Upload>\
                    <Upload><Key>c</Key><UploadId>y</UploadId></Upload></ListMultipartUploadsResult>";
        let listed: Listed = quick_xml::de::from_str(text).unwrap();
        assert_eq!((listed.is_truncated, listed.upload.len()), (true, 2));
        let [old, unknown] = &listed.upload[..] else { panic!() };
        assert_eq!((old.key.as_str(), old.upload_id.as_str()), ("a/b.tar", "x"));
        let day = Duration::from_secs(86_400);
        assert!(is_older(&old.initiated, day) && !is_older(&unknown.initiated, day));
        let none: Listed =
            quick_xml::de::from_str("<ListMultipartUploadsResult></ListMultipartUploadsResult>")
                .unwrap();
        assert!(none.upload.is_empty());
    }

    #[test]
    fn only_what_lies_below_is_meant() {
        for (key, wanted, expected) in
            [("a/b", "a", true), ("a", "a", true), ("ab", "a", false), ("x", "", true)]
        {
            assert_eq!(is_below(key, wanted), expected, "{key} {wanted}");
        }
    }
}
