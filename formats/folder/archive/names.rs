//! Converts names of members to paths.
use crate::folder::layout::check_relative;
use rawzip::ZipFileHeaderRecord;
use std::borrow::Cow;

/// Characters of the bytes from 0x80 on in code page 437, the default encoding of member names.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌\
█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// Info-ZIP's extra field with the name in UTF-8.
const UNICODE_PATH: u16 = 0x7075;
/// Bytes before the name in that field: a version and the checksum of the other name.
const UNICODE_PATH_HEADER: usize = 5;

/// The path of a member below the zip; that of a folder ends in a slash.
///
/// The error completes the sentence "the name ...".
pub(crate) fn path_of(entry: &ZipFileHeaderRecord<'_>) -> Result<String, String> {
    let path = entry.file_path();
    let raw = path.as_ref();
    let name = if entry.flags().is_utf8() {
        std::str::from_utf8(raw).map_err(|_| "is not UTF-8, which it claims to be")?.into()
    } else {
        unicode_path(entry, raw).map_or_else(|| decoded(raw), Cow::Owned)
    };
    if name.contains('\\') {
        return Err("has a backslash, which parts paths on Windows only; unpack the zip and pack \
                    the folder"
            .to_owned());
    }
    let name = name.strip_prefix("./").unwrap_or(&name);
    let is_of_drive = matches!(name.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    if is_of_drive {
        return Err("is absolute; it has to be relative to the zip".to_owned());
    }
    check_relative(name.strip_suffix('/').unwrap_or(name).as_bytes())?;
    Ok(name.to_owned())
}

/// Tries UTF-8 first: tools that write it without the flag are much more common than names in the
/// old code page that happen to be valid UTF-8.
fn decoded(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(name) => name.into(),
        Err(_) => raw.iter().map(|&byte| cp437(byte)).collect::<String>().into(),
    }
}

fn cp437(byte: u8) -> char {
    let upper = byte.checked_sub(0x80).map(usize::from);
    upper.and_then(|at| CP437.chars().nth(at)).unwrap_or(char::from(byte))
}

fn unicode_path(entry: &ZipFileHeaderRecord<'_>, raw: &[u8]) -> Option<String> {
    let (_, field) = entry.extra_fields().find(|(id, _)| id.as_u16() == UNICODE_PATH)?;
    let (header, name) = field.split_at_checked(UNICODE_PATH_HEADER)?;
    let [1, checksum @ ..] = header else { return None };
    // If the checksum differs, the name was changed after the field was written.
    let is_of_name = *checksum == crc32fast::hash(raw).to_le_bytes();
    is_of_name.then(|| String::from_utf8(name.to_vec()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_of_code_page_437() {
        assert_eq!(CP437.chars().count(), 128);
        assert_eq!(decoded(b"na\x8bve/\x81ber.jpg"), "naïve/über.jpg");
        assert_eq!(decoded("naïve.jpg".as_bytes()), "naïve.jpg");
        assert_eq!([cp437(b'a'), cp437(0x80), cp437(0xe1), cp437(0xff)], ['a', 'Ç', 'ß', '\u{a0}']);
    }
}
