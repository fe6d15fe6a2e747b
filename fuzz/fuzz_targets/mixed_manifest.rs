//! Any bytes as the manifest of a mixed set: an error, or codecs that have samples. Two inputs of
//! three get a corrected checksum, without which the code after it would never run.
#![no_main]
use fdconvert_formats::mixed::manifest_codecs;
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::xxh3_128;

fuzz_target!(|data: &[u8]| {
    let signed;
    let text = match data.split_first() {
        Some((first, body)) if first % 3 > 0 => {
            let head = format!("{{\n  \"xxh3\": \"{:032x}\",\n", xxh3_128(body));
            signed = [head.as_bytes(), body].concat();
            &signed
        }
        _ => data,
    };
    match manifest_codecs(text) {
        Ok(codecs) => assert!(!codecs.is_empty() && codecs.iter().all(|(_, n)| *n > 0)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
