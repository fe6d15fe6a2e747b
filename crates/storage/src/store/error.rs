//! Converts answers of stores to errors with cures.
use crate::store::location::{Location, Scheme};
use fdconvert_core::Error;
use object_store::{
    Error as Cause,
    client::{HttpError, HttpErrorKind},
};
use std::{error::Error as _, io};

/// Parts of answers that identify a failure, and the cure.
const CURES: &[(&str, &str)] = &[
    ("NoSuchBucket", "there is no such bucket; check its name, and the region or endpoint"),
    ("ContainerNotFound", "there is no such bucket; check its name, and the account or endpoint"),
    ("ExpiredToken", "the credentials have expired; get new ones"),
    ("token included in the request is expired", "the credentials have expired; get new ones"),
    ("InvalidAccessKeyId", "the access key is unknown; check AWS_ACCESS_KEY_ID or AWS_PROFILE"),
    ("SignatureDoesNotMatch", "the secret key does not belong to the access key"),
    (
        "AuthenticationFailed",
        "the key or token does not belong to the account; check AZURE_STORAGE_ACCOUNT_NAME and \
         AZURE_STORAGE_ACCOUNT_KEY",
    ),
    ("PermanentRedirect", OTHER_REGION),
    ("AuthorizationHeaderMalformed", OTHER_REGION),
    ("IllegalLocationConstraint", OTHER_REGION),
    ("SlowDown", "the store asks for fewer requests; use fewer threads, or wait"),
    (
        "169.254.169.254",
        "no credentials were found; set AWS_PROFILE or AWS_ACCESS_KEY_ID, or \
      the store option skip_signature=true for public buckets",
    ),
    (
        "metadata.google.internal",
        "no credentials were found; run `gcloud auth \
      application-default login`, or set the store option skip_signature=true for public buckets",
    ),
    (
        "contained empty path segment",
        "the name of an object there has an empty part (`//`), and a list with it cannot be read; \
         rename that object, or pack the folders next to it",
    ),
    (
        "whilst parsing path segment",
        "the name of an object there has a part that cannot be read, such as `.`; rename that object, \
         or pack the folders next to it",
    ),
    (
        "Range request not supported",
        "the server sends files only as a whole, or another page, such as one to log in; download \
         the file, and name the copy",
    ),
    (
        "407 Proxy Authentication Required",
        "the proxy wants a login; name it in HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT",
    ),
    ("InvalidContentType", NO_TLS),
    ("tls handshake eof", NO_TLS),
    ("dns error", "the host was not found; check the endpoint and the network"),
    ("Connection refused", "nothing answers there; check the endpoint"),
];

/// Message for denied access without a reason from the store.
const DENIED: &str = "the store denies access; check the credentials and what they may do";
const NOT_ACCEPTED: &str = "the store does not accept the credentials";
/// The same for a web server, which gets no credentials.
const NOT_PUBLIC: &str = "the server denies access, and credentials are not sent to web servers; \
                          download the file, and name the copy";

const NO_TLS: &str = "the server does not speak TLS; write http:// for https://";

/// Messages for answers without a reason, such as all to HEAD.
const REFUSED: &str = "the store refuses the request; check the credentials, which may have \
                       expired, and the region";
const FAILS: &str = "the store fails at the moment; try again later";
const OTHER_REGION: &str = "the bucket is in another region; set the store option region";
/// The client's text for a redirect without a place, as S3 answers for buckets of other regions.
const BARE_REDIRECT: &str = "Received redirect without LOCATION";

/// The client's text before method, URL, time and attempts of a request.
const PERFORMING: &str = "Error performing ";
/// The client's text before status and body of an answer.
const STATUS: &str = "Server returned non-2xx status code: ";
/// Maximum number of characters of an answer to show.
const ANSWER_CHARS: usize = 200;

/// Cause of a request that ended because everything stops.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
struct Stopped;

pub(crate) fn stopped() -> Cause {
    Cause::Generic { store: "request", source: Box::new(Stopped) }
}

pub(crate) fn is_stopped(cause: &Cause) -> bool {
    matches!(cause, Cause::Generic { source, .. } if source.is::<Stopped>())
}

/// Creates the error of a request; `Cancelled` for one that ended because everything stops.
pub(crate) fn of(action: &'static str, location: &Location, cause: Cause) -> Error {
    if is_stopped(&cause) {
        return Error::Cancelled;
    }
    Error::io(action, &location.path)(to_io(location.scheme, cause))
}

fn to_io(scheme: Scheme, cause: Cause) -> io::Error {
    let is_web = scheme == Scheme::Http;
    let denied = if is_web { NOT_PUBLIC } else { DENIED };
    let not_accepted = if is_web { NOT_PUBLIC } else { NOT_ACCEPTED };
    let said = chain(&cause);
    let cure = CURES.iter().find(|(part, _)| said.contains(part)).map(|&(_, cure)| cure);
    let status = said.split_once(STATUS).and_then(|(_, answer)| answer.get(..3));
    let (kind, plain) = match &cause {
        Cause::NotFound { .. } => (io::ErrorKind::NotFound, Some("there is no such object")),
        Cause::AlreadyExists { .. } => (io::ErrorKind::AlreadyExists, Some("it exists")),
        Cause::Precondition { .. } => {
            (io::ErrorKind::Other, Some("it was changed since it was opened"))
        }
        Cause::PermissionDenied { .. } => (io::ErrorKind::PermissionDenied, Some(denied)),
        Cause::Unauthenticated { .. } => (io::ErrorKind::PermissionDenied, Some(not_accepted)),
        // The client identifies these for single objects, but not for lists.
        Cause::Generic { .. } if said.contains(" 403 Forbidden") => {
            (io::ErrorKind::PermissionDenied, Some(denied))
        }
        Cause::Generic { .. } if said.contains(" 401 Unauthorized") => {
            (io::ErrorKind::PermissionDenied, Some(not_accepted))
        }
        Cause::Generic { .. } if matches!(status, Some("500" | "502" | "503" | "504")) => {
            (io::ErrorKind::Other, Some(FAILS))
        }
        Cause::Generic { .. } if !is_web && status == Some("400") => {
            (io::ErrorKind::Other, Some(REFUSED))
        }
        Cause::Generic { .. } if !is_web && said.contains(BARE_REDIRECT) => {
            (io::ErrorKind::Other, Some(OTHER_REGION))
        }
        _ => (io::ErrorKind::Other, None),
    };
    let said = brief(&said);
    match (cure, plain) {
        (Some(cure), _) => io::Error::new(kind, format!("{cure} ({said})")),
        (None, Some(plain)) if kind == io::ErrorKind::NotFound => io::Error::new(kind, plain),
        (None, Some(plain)) => io::Error::new(kind, format!("{plain} ({said})")),
        (None, None) => io::Error::new(kind, said),
    }
}

/// Returns true if the body of an answer, even of a refusal, was interrupted or invalid: then the
/// store's message is unknown. The client only repeats requests without an answer.
pub(crate) fn is_broken_body(cause: &Cause) -> bool {
    use HttpErrorKind::{Decode, Interrupted, Unknown};
    kind(cause).is_some_and(|kind| matches!(kind, Decode | Interrupted | Unknown))
}

/// Returns true if a request was sent without getting an answer: it may have been executed.
pub(crate) fn is_unanswered(cause: &Cause) -> bool {
    use HttpErrorKind::{Interrupted, Timeout, Unknown};
    kind(cause).is_some_and(|kind| matches!(kind, Interrupted | Timeout | Unknown))
}

/// The kind of the connection error, if that is the cause.
fn kind(cause: &Cause) -> Option<HttpErrorKind> {
    let mut next = cause.source();
    while let Some(cause) = next {
        if let Some(failed) = cause.downcast_ref::<HttpError>() {
            return Some(failed.kind());
        }
        next = cause.source();
    }
    None
}

/// Code and message of an XML answer, without some 600 characters for the store's own support; of
/// any other answer method, URL, status and start.
fn brief(said: &str) -> String {
    let member = |name: &str| {
        let (_, rest) = said.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text.trim())
    };
    match (member("Code"), member("Message")) {
        (Some(code), Some(message)) if !message.is_empty() => format!("{code}: {message}"),
        (Some(code), _) => code.to_owned(),
        _ => {
            let (request, answer) = request(said).unwrap_or((String::new(), said));
            let Some((before, answer)) = answer.split_once(STATUS) else {
                return format!("{request}{answer}");
            };
            let start: String = answer.chars().take(ANSWER_CHARS).collect();
            let more = if answer.len() > start.len() { "..." } else { "" };
            format!("{request}{before}{}{more}", start.trim_end_matches([' ', ':']))
        }
    }
}

/// Divides `Generic S3 error: Error performing HEAD URL in 9s, after 10 retries, ... - ANSWER`
/// into `HEAD URL: ` and the answer.
fn request(said: &str) -> Option<(String, &str)> {
    let (_, performed) = said.split_once(PERFORMING)?;
    let (request, answer) = performed.split_once(" - ")?;
    let (request, _) = request.split_once(" in ")?;
    Some((format!("{request}: "), answer))
}

/// The causes on one line, without repetitions.
fn chain(cause: &Cause) -> String {
    let mut said = cause.to_string();
    let mut next = cause.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        next = cause.source();
    }
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    // A tab may be part of a name.
    lines.collect::<Vec<_>>().join(" ").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_answer_in_xml_code_and_message_are_told() {
        let said = "Error performing GET http://h/b/k in 3ms - Server returned non-2xx status code: \
                    403 Forbidden: <?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>\
                    Access Denied.</Message><RequestId>1</RequestId></Error>";
        assert_eq!(brief(said), "AccessDenied: Access Denied.");
        let empty = "404 <Error><Code>NoSuchKey</Code><Message></Message></Error>";
        assert_eq!(brief(empty), "NoSuchKey");
        assert_eq!(brief("connection reset"), "connection reset");
        let page = format!(
            "Error performing GET http://h/ in 3ms - {STATUS}403 Forbidden: {}",
            "é".repeat(6000)
        );
        let told = brief(&page);
        assert!(told.starts_with("GET http://h/: 403 Forbidden: é"), "{told}");
        assert!(told.ends_with("é...") && told.chars().count() < 250, "{told}");
    }

    /// What the client says of an answer to HEAD, which has no body.
    fn of_head(scheme: Scheme, answer: &str) -> String {
        let said = format!(
            "Error performing HEAD http://h/b/k in 9.1s, after 10 retries, max_retries: 10, \
             retry_timeout: 180s  - {answer}"
        );
        to_io(scheme, Cause::Generic { store: "S3", source: said.into() }).to_string()
    }

    #[test]
    fn answers_without_a_reason_are_told_with_a_cure() {
        for (answer, cure, shown) in [
            ("400 Bad Request: ", REFUSED, "400 Bad Request"),
            ("403 Forbidden: ", DENIED, "403 Forbidden"),
            ("500 Internal Server Error: ", FAILS, "500 Internal Server Error"),
            ("503 Service Unavailable: ", FAILS, "503 Service Unavailable"),
        ] {
            let said = of_head(Scheme::S3, &format!("{STATUS}{answer}"));
            assert_eq!(said, format!("{cure} (HEAD http://h/b/k: {shown})"));
        }
        let redirect = format!("{BARE_REDIRECT}, this normally indicates an incorrect region");
        assert!(of_head(Scheme::S3, &redirect).starts_with(OTHER_REGION));
        let said = of_head(Scheme::Http, &redirect);
        assert_eq!(said, format!("HEAD http://h/b/k: {redirect}"));
    }
}
