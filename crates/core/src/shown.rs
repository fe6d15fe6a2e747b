use std::fmt::{self, Display, Formatter, Write};

/// Untrusted text, made safe for display: characters that steer a terminal or change the reading
/// order are spelled out, so that a file's name cannot clear a screen, pretend to be another line,
/// or hide its ending.
///
/// Control characters (C0 including the newline, DEL, C1) become `\n`, `\r`, `\t` or `\x1b`; line
/// and paragraph separators, marks, embeddings, overrides and isolates of bidirectional text, and
/// noncharacters become `\u{202e}`. Everything else, including the backslash, stays: applying it
/// twice changes nothing.
///
/// ```
/// use fdconvert_core::Shown;
///
/// assert_eq!(Shown("cat\u{1b}[2J\n.jpg").to_string(), r"cat\x1b[2J\n.jpg");
/// assert_eq!(Shown("größe 1.jpg").to_string(), "größe 1.jpg");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shown<T>(pub T);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Spelling { out: f, keep: None }, "{}", self.0)
    }
}

/// Like [`Shown`], but keeps newlines: for texts of several lines, in which names have already been
/// shown.
///
/// ```
/// use fdconvert_core::ShownText;
///
/// assert_eq!(ShownText("a\u{7}\nb\n").to_string(), "a\\x07\nb\n");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ShownText<T>(pub T);

impl<T: Display> Display for ShownText<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Spelling { out: f, keep: Some('\n') }, "{}", self.0)
    }
}

/// Quotes an argument for a shell, unless it has only letters, digits and harmless marks.
///
/// ```
/// use fdconvert_core::shell_word;
///
/// assert_eq!(shell_word("my photos"), "'my photos'");
/// assert_eq!(shell_word("a/b.wds"), "a/b.wds");
/// ```
#[must_use]
pub fn shell_word(argument: &str) -> String {
    let word = Shown(argument).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:%+@".contains(c);
    let plain = !word.is_empty() && word.chars().all(is_plain);
    if plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A writer that spells out unsafe characters.
struct Spelling<'a, 'b> {
    out: &'a mut Formatter<'b>,
    keep: Option<char>,
}

impl Write for Spelling<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, character) in text.char_indices() {
            if !is_unsafe(character) || self.keep == Some(character) {
                continue;
            }
            self.out.write_str(text.get(plain..at).unwrap_or_default())?;
            plain = at + character.len_utf8();
            match character {
                '\n' => self.out.write_str("\\n")?,
                '\r' => self.out.write_str("\\r")?,
                '\t' => self.out.write_str("\\t")?,
                _ if character.is_control() => write!(self.out, "\\x{:02x}", u32::from(character))?,
                _ => write!(self.out, "\\u{{{:x}}}", u32::from(character))?,
            }
        }
        self.out.write_str(text.get(plain..).unwrap_or_default())
    }
}

/// Returns true if a character affects the text around it.
fn is_unsafe(character: char) -> bool {
    let steers = matches!(
        character,
        // Unicode 16: Bidi_Control, and the two line separators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let code = u32::from(character);
    let is_noncharacter = (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe;
    character.is_control() || steers || is_noncharacter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_steers_is_spelled_and_no_other() {
        for code in (0..=0x10_ffff).filter_map(char::from_u32) {
            let shown = Shown(code).to_string();
            let expected = match u32::from(code) {
                0..=0x1f | 0x7f..=0x9f | 0x61c | 0x200e | 0x200f => true,
                0x2028..=0x202e | 0x2066..=0x2069 | 0xfdd0..=0xfdef => true,
                code => matches!(code & 0xffff, 0xfffe | 0xffff),
            };
            assert_eq!(shown.starts_with('\\') && shown.len() > 1, expected, "{:x}", code as u32);
            assert_eq!(Shown(&shown).to_string(), shown);
        }
    }
}
