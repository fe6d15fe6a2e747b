//! Pictures: coded images, and grids of them.
use super::{
    super::boxes::Block,
    items::{Extent, Fields, Meta},
    joined, pieces,
};
use crate::bytes::{array_at, u16_be_at, u32_be_at};

/// A coded image, or a grid of such of one size.
#[derive(Debug, Clone)]
pub struct AvifPicture {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tiles in a row; 1 for an image that is not a grid.
    pub across: u32,
    /// Width and height of each tile. Those at the right and at the bottom may reach over the edge.
    pub tile: (u32, u32),
    /// The tiles, row by row.
    pub tiles: Vec<AvifTile>,
    /// Bits per sample: 8, 10 or 12.
    pub bits: u8,
    /// True if there is one channel only.
    pub is_gray: bool,
}

/// A coded image: a place in the file.
#[derive(Debug, Clone)]
pub struct AvifTile {
    pub(super) extents: Vec<Extent>,
    pub(super) is_in_idat: bool,
}

/// How samples become colours (ITU-T H.273).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvifColors {
    /// Colour primaries.
    pub primaries: u16,
    /// Matrix coefficients.
    pub matrix: u16,
    /// True if samples have all values, false for those of television.
    pub is_full_range: bool,
}

/// Properties that change nothing of the pixels as stored, or that are read.
const KNOWN: [&[u8; 4]; 7] = [b"av1C", b"ispe", b"pixi", b"irot", b"imir", b"colr", b"auxC"];
/// Limit of tiles, as in HEIF.
const MAX_TILES: u32 = 256 * 256;

impl AvifPicture {
    /// Returns the picture of an item, and why it is not decoded if so.
    pub(super) fn of(meta: &Meta<'_>, id: u32) -> Result<(Self, Option<String>), String> {
        let item = meta.items.get(&id).ok_or_else(|| format!("it has no item {id}"))?;
        let (width, height) = size(meta, id)?;
        let grid = match &item.kind {
            b"av01" => None,
            b"grid" => Some(meta.referred(*b"dimg", id)),
            other => {
                let kind = other.escape_ascii();
                return Err(format!(
                    "its primary image is of the kind `{kind}`, which is not read"
                ));
            }
        };
        let tile_ids = grid.unwrap_or(std::slice::from_ref(&id));
        let first = *tile_ids.first().ok_or("its grid has no tiles")?;
        let tile = size(meta, first)?;
        let (across, down) = match grid {
            Some(_) => grid_shape(meta, id, (width, height), tile)?,
            None => (1, 1),
        };
        if tile_ids.len() as u64 != u64::from(across) * u64::from(down) {
            return Err(format!("its grid of {across}x{down} has {} tiles", tile_ids.len()));
        }
        let coding = coding(meta, first)?;
        let mut tiles = Vec::with_capacity(tile_ids.len());
        for &id in tile_ids {
            if size(meta, id)? != tile || self::coding(meta, id)? != coding {
                return Err("the tiles of its grid differ in size or kind".into());
            }
            let item = meta.items.get(&id).filter(|item| item.kind == *b"av01");
            let item = item.ok_or("a tile of its grid is not an image")?;
            if item.extents.is_empty() || item.extents.iter().any(|extent| extent.len == 0) {
                return Err("the place of its image has no length".into());
            }
            let is_in_idat = item.construction == 1;
            tiles.push(AvifTile { extents: item.extents.clone(), is_in_idat });
        }
        let (bits, is_gray) = coding;
        let picture = Self { width, height, across, tile, tiles, bits, is_gray };
        let mut refused = tile_ids.iter().chain([&id]).find_map(|&id| refused(meta, id));
        if grid.is_some() && alpha_of(meta, id).is_none() && alpha_of(meta, first).is_some() {
            refused = Some(not_done("an alpha channel for each tile of its grid"));
        }
        Ok((picture, refused))
    }
}

/// Returns the item with the alpha channel of another.
pub(super) fn alpha_of(meta: &Meta<'_>, id: u32) -> Option<u32> {
    const ALPHA: [&[u8]; 2] =
        [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0", b"urn:mpeg:hevc:2015:auxid:1\0"];
    let mut auxiliary =
        meta.references.iter().filter(|it| it.kind == *b"auxl" && it.to.contains(&id));
    auxiliary.find_map(|reference| {
        let name = property(meta, reference.from, b"auxC")?.content.get(4..)?;
        ALPHA.iter().any(|alpha| name.starts_with(alpha)).then_some(reference.from)
    })
}

impl AvifColors {
    pub(super) fn of(meta: &Meta<'_>, id: u32) -> Option<Self> {
        let block = properties(meta, id)
            .find(|block| block.kind == *b"colr" && array_at(block.content, 0) == Some(*b"nclx"))?;
        let at = |place| u16_be_at(block.content, place);
        Some(Self {
            primaries: at(4)?,
            matrix: at(8)?,
            is_full_range: *block.content.get(10)? & 0x80 != 0,
        })
    }
}

/// Returns the properties of an item.
pub(super) fn properties<'m, 'a>(
    meta: &'m Meta<'a>,
    id: u32,
) -> impl Iterator<Item = &'m Block<'a>> {
    let of_item = meta.items.get(&id).into_iter().flat_map(|item| &item.properties);
    of_item.filter_map(|&(index, _)| meta.properties.get(index))
}

fn property<'m, 'a>(meta: &'m Meta<'a>, id: u32, kind: &[u8; 4]) -> Option<&'m Block<'a>> {
    properties(meta, id).find(|block| block.kind == *kind)
}

fn size(meta: &Meta<'_>, id: u32) -> Result<(u32, u32), String> {
    let block = property(meta, id, b"ispe").ok_or_else(|| format!("its item {id} has no size"))?;
    let size = u32_be_at(block.content, 4).zip(u32_be_at(block.content, 8));
    size.ok_or_else(|| block.ends_early())
}

/// Returns bits and whether there is one channel only (AV1 Codec ISO Media File Format Binding).
fn coding(meta: &Meta<'_>, id: u32) -> Result<(u8, bool), String> {
    let block = property(meta, id, b"av1C")
        .ok_or_else(|| format!("its item {id} has no description of its AV1 data"))?;
    let [flags] = array_at(block.content, 2).ok_or_else(|| block.ends_early())?;
    let bits = match flags >> 5 & 3 {
        0 | 1 => 8,
        2 => 10,
        _ => 12,
    };
    Ok((bits, flags & 0x10 != 0))
}

/// Returns the number of tiles in a row and in a column (ISO/IEC 23008-12, section 6.6.2.3).
fn grid_shape(
    meta: &Meta<'_>,
    id: u32,
    (width, height): (u32, u32),
    (tile_width, tile_height): (u32, u32),
) -> Result<(u32, u32), String> {
    const IS_WIDE: u64 = 1;
    let item = meta.items.get(&id).ok_or("its grid is missing")?;
    let content = pieces(meta.source(item), &item.extents);
    let content = joined(&content.map_err(|_| "the description of its grid is missing")?);
    let block = Block { kind: *b"grid", at: 0, content: &content, is_cut: false, is_open: false };
    let mut fields = Fields::of(&block, 1);
    let number_bytes = if fields.number(1)? & IS_WIDE == 0 { 2 } else { 4 };
    let (down, across) = (fields.number(1)? as u32 + 1, fields.number(1)? as u32 + 1);
    let told = (fields.number(number_bytes)?, fields.number(number_bytes)?);
    let covers = |n_tiles: u32, tile: u32, whole: u32| {
        let (n_tiles, tile, whole) = (u64::from(n_tiles), u64::from(tile), u64::from(whole));
        (n_tiles - 1) * tile < whole && whole <= n_tiles * tile
    };
    let fits = covers(across, tile_width, width) && covers(down, tile_height, height);
    if !fits || told != (width.into(), height.into()) || across * down > MAX_TILES {
        return Err(format!(
            "its grid of {across}x{down} tiles of {tile_width}x{tile_height} pixels is not an \
             image of {width}x{height}"
        ));
    }
    Ok((across, down))
}

/// Returns why an item is not decoded, if so.
fn refused(meta: &Meta<'_>, id: u32) -> Option<String> {
    let item = meta.items.get(&id)?;
    if item.construction > 1 {
        return Some(not_done("data that is put together of other items"));
    }
    let whole = size(meta, id).ok();
    item.properties.iter().find_map(|&(index, is_essential)| {
        let block = meta.properties.get(index)?;
        match &block.kind {
            b"clap" if crops(block, whole) => Some(not_done("a crop (`clap`)")),
            b"clap" => None,
            kind if is_essential && !KNOWN.contains(&kind) => {
                Some(not_done(&format!("the property `{}`", kind.escape_ascii())))
            }
            _ => None,
        }
    })
}

/// Returns true unless the clean aperture is the whole image.
fn crops(block: &Block<'_>, whole: Option<(u32, u32)>) -> bool {
    let number = |index: usize| u32_be_at(block.content, index * 4);
    let is = |index: usize, side: u32| {
        let fraction = number(index).zip(number(index + 1));
        fraction.is_some_and(|(top, bottom)| {
            bottom > 0 && u64::from(top) == u64::from(side) * u64::from(bottom)
        })
    };
    let is_whole = whole.is_some_and(|(width, height)| is(0, width) && is(2, height));
    !(is_whole && number(4) == Some(0) && number(6) == Some(0))
}

fn not_done(what: &str) -> String {
    format!(
        "the AVIF has {what}, which is not decoded here; convert it first: \
         `avifdec in.avif out.png` (libavif)"
    )
}
