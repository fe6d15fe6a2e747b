//! The items of a HEIF and what is said of them (ISO/IEC 23008-12; ISO/IEC 14496-12, section 8.11).
use super::super::boxes::Block;
use crate::bytes::{array_at, u16_be_at, u32_be_at};
use std::collections::BTreeMap;

/// Limit of the pieces that all items together may have. A piece may need no byte in the file.
const MAX_EXTENTS: usize = 1 << 17;

/// Bytes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// An item: an image, a part of one, or metadata.
#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    pub(super) kind: [u8; 4],
    pub(super) extents: Vec<Extent>,
    /// How its extents are counted: 0 from the start of the file, 1 in the box `idat`.
    pub(super) construction: u8,
    /// Indices of its properties, in the order in which they apply, and whether each is essential.
    pub(super) properties: Vec<(usize, bool)>,
}

/// Reference from an item to others.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) kind: [u8; 4],
    pub(super) from: u32,
    pub(super) to: Vec<u32>,
}

/// The box `meta`.
#[derive(Debug, Clone, Default)]
pub(super) struct Meta<'a> {
    pub(super) primary: Option<u32>,
    pub(super) items: BTreeMap<u32, Item>,
    pub(super) references: Vec<Reference>,
    pub(super) properties: Vec<Block<'a>>,
    pub(super) idat: &'a [u8],
    pub(super) file: &'a [u8],
}

impl<'a> Meta<'a> {
    pub(super) fn parse(meta: &Block<'a>, file: &'a [u8]) -> Result<Self, String> {
        let mut all = Self { file, ..Self::default() };
        for block in meta.boxes(4) {
            match &block.kind {
                b"pitm" => {
                    let (version, _) = block.version()?;
                    all.primary = Some(Fields::of(&block, 4).number(id_bytes(version))? as u32);
                }
                b"iloc" => all.read_places(&block)?,
                b"iinf" => all.read_kinds(&block)?,
                b"iref" => all.read_references(&block)?,
                b"iprp" => all.read_properties(&block)?,
                b"idat" => all.idat = block.content,
                _ => {}
            }
        }
        Ok(all)
    }

    /// Returns the bytes that the extents of an item are places in.
    pub(super) fn source(&self, item: &Item) -> &'a [u8] {
        if item.construction == 1 { self.idat } else { self.file }
    }

    /// Returns the items that such a reference of an item names.
    pub(super) fn referred(&self, kind: [u8; 4], from: u32) -> &[u32] {
        let found = self.references.iter().find(|it| it.kind == kind && it.from == from);
        found.map_or(&[], |reference| &reference.to)
    }

    fn read_places(&mut self, block: &Block<'_>) -> Result<(), String> {
        let (version, _) = block.version()?;
        let mut fields = Fields::of(block, 4);
        let sizes = fields.number(2)?;
        let size = |place: u32| (sizes >> place & 15) as usize;
        let (of_offset, of_len, of_base, of_index) = (size(12), size(8), size(4), size(0));
        let of_index = if version == 0 { 0 } else { of_index };
        if [of_offset, of_len, of_base, of_index].iter().any(|size| !matches!(size, 0 | 4 | 8)) {
            return Err(format!("its places at byte {} have sizes that cannot be", block.at));
        }
        let mut n_extents = 0;
        for _ in 0..fields.number(if version < 2 { 2 } else { 4 })? {
            let id = fields.number(if version < 2 { 2 } else { 4 })? as u32;
            let construction = if version == 0 { 0 } else { fields.number(2)? & 15 };
            let _data_reference = fields.number(2)?;
            let base = fields.number(of_base)?;
            let item = self.items.entry(id).or_default();
            item.construction = construction as u8;
            for _ in 0..fields.number(2)? {
                n_extents += 1;
                if n_extents > MAX_EXTENTS {
                    return Err(format!("its items are in more than {MAX_EXTENTS} pieces"));
                }
                fields.number(of_index)?;
                let offset = base.saturating_add(fields.number(of_offset)?);
                item.extents.push(Extent { offset, len: fields.number(of_len)? });
            }
        }
        Ok(())
    }

    fn read_kinds(&mut self, block: &Block<'_>) -> Result<(), String> {
        let (version, _) = block.version()?;
        for entry in block.boxes(if version == 0 { 6 } else { 8 }) {
            let (version, _) = entry.version()?;
            if entry.kind == *b"infe" && version >= 2 {
                let mut fields = Fields::of(&entry, 4);
                let id = fields.number(if version == 2 { 2 } else { 4 })? as u32;
                let _protection = fields.number(2)?;
                let kind = fields.number(4)? as u32;
                self.items.entry(id).or_default().kind = kind.to_be_bytes();
            }
        }
        Ok(())
    }

    fn read_references(&mut self, block: &Block<'_>) -> Result<(), String> {
        let (version, _) = block.version()?;
        for entry in block.boxes(4) {
            let mut fields = Fields::of(&entry, 0);
            let from = fields.number(id_bytes(version))? as u32;
            let n_items = fields.number(2)?;
            let to = (0..n_items).map(|_| fields.number(id_bytes(version)).map(|id| id as u32));
            let to = to.collect::<Result<_, _>>()?;
            self.references.push(Reference { kind: entry.kind, from, to });
        }
        Ok(())
    }

    fn read_properties(&mut self, block: &Block<'a>) -> Result<(), String> {
        for part in block.boxes(0) {
            match &part.kind {
                b"ipco" => self.properties = part.boxes(0).collect(),
                b"ipma" => self.read_associations(&part)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_associations(&mut self, block: &Block<'_>) -> Result<(), String> {
        const WIDE: u32 = 1;
        let (version, flags) = block.version()?;
        let (of_entry, essential) = if flags & WIDE == 0 { (1, 0x80) } else { (2, 0x8000) };
        let mut fields = Fields::of(block, 4);
        for _ in 0..fields.number(4)? {
            let id = fields.number(id_bytes(version))? as u32;
            for _ in 0..fields.number(1)? {
                let entry = fields.number(of_entry)?;
                // Index 0 stands for no property.
                if let Some(index) = ((entry & !essential) as usize).checked_sub(1) {
                    let item = self.items.entry(id).or_default();
                    item.properties.push((index, entry & essential != 0));
                }
            }
        }
        Ok(())
    }
}

fn id_bytes(version: u8) -> usize {
    if version == 0 { 2 } else { 4 }
}

/// Numbers of a box, one after another.
pub(super) struct Fields<'a> {
    block: Block<'a>,
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(block: &Block<'a>, from: usize) -> Self {
        Self { block: *block, at: from }
    }

    /// Returns a number of 0, 1, 2, 4 or 8 bytes.
    pub(super) fn number(&mut self, n_bytes: usize) -> Result<u64, String> {
        let (content, at) = (self.block.content, self.at);
        let number = match n_bytes {
            0 => Some(0),
            1 => array_at(content, at).map(|[byte]: [u8; 1]| byte.into()),
            2 => u16_be_at(content, at).map(u64::from),
            4 => u32_be_at(content, at).map(u64::from),
            _ => array_at(content, at).map(u64::from_be_bytes),
        };
        self.at += n_bytes;
        number.ok_or_else(|| self.block.ends_early())
    }
}
