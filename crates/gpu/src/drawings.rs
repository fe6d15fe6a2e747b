//! The drawn images of a batch, grouped by canvas, because one launch draws on one canvas.
use crate::{
    Canvas, Fallback, Tensor,
    layout::{DrawingLayout, FractalImageLayout, FractalSystemLayout, FractalsLayout},
};
use fdconvert_core::LanesImage;
use std::ops::Range;

/// Bytes of the bitmaps of a batch; further images are left to the caller.
const MAX_BITMAP_BYTES: u64 = 1 << 30;

/// Side, padding, number of points, and whether points become patches.
type Kind = (u32, u32, u32, bool);

/// Images to draw, in the order of their addition.
#[derive(Default)]
pub(crate) struct Drawings {
    images: Vec<(LanesImage, DrawingLayout)>,
    bitmap_bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DrawingPlan {
    pub(crate) systems: Vec<FractalSystemLayout>,
    pub(crate) images: Vec<FractalImageLayout>,
    pub(crate) drawings: Vec<DrawingLayout>,
    pub(crate) groups: Vec<Group>,
    pub(crate) bitmap_bytes: u64,
    /// Position of each image, in the order of addition.
    pub(crate) positions: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Group {
    images: Range<usize>,
    canvas: Canvas,
    coverage_at: u64,
    patches_at: Option<u64>,
}

pub(crate) struct DrawingAddresses {
    pub(crate) systems: u64,
    pub(crate) images: u64,
    pub(crate) bitmaps: u64,
}

impl Drawings {
    /// Adds an image and returns its number. `row` gets its pixels from `(left, top)` on.
    pub(crate) fn add(
        &mut self,
        image: &LanesImage,
        (left, top): (u32, u32),
        row: usize,
        tensor: &Tensor,
    ) -> Result<usize, Fallback> {
        let canvas = canvas(image);
        let is_inside =
            |from: u32, n: u32| from.checked_add(n).is_some_and(|end| end <= image.side);
        if !canvas.is_good() || !is_inside(left, tensor.width) || !is_inside(top, tensor.height) {
            return Err(Fallback::Canvas);
        }
        let bitmap_bytes = canvas.bitmap_bytes() * (1 + u64::from(image.patches));
        if self.bitmap_bytes + bitmap_bytes > MAX_BITMAP_BYTES {
            return Err(Fallback::BatchFull);
        }
        self.bitmap_bytes += bitmap_bytes;
        let layout = DrawingLayout {
            row: row as u32,
            size: image.side,
            left,
            top,
            mirror: image.mirror.into(),
            turn: image.turn.into(),
            level: image.level.into(),
            ..DrawingLayout::default()
        };
        self.images.push((*image, layout));
        Ok(self.images.len() - 1)
    }

    pub(crate) fn finish(self) -> DrawingPlan {
        let mut order: Vec<_> = self.images.iter().enumerate().collect();
        // Stable: images of one kind keep their order.
        order.sort_by_key(|(_, (image, _))| kind(image));
        let mut plan =
            DrawingPlan { positions: vec![0; self.images.len()], ..DrawingPlan::default() };
        for chunk in order.chunk_by(|(_, (a, _)), (_, (b, _))| kind(a) == kind(b)) {
            plan.add_group(chunk);
        }
        plan
    }
}

impl DrawingPlan {
    fn add_group(&mut self, chunk: &[(usize, &(LanesImage, DrawingLayout))]) {
        let Some((_, (first, _))) = chunk.first() else { return };
        let canvas = canvas(first);
        let (each, all) = (canvas.bitmap_bytes(), canvas.bitmap_bytes() * chunk.len() as u64);
        let coverage_at = self.bitmap_bytes;
        let patches_at = first.patches.then_some(coverage_at + all);
        let shown_at = patches_at.unwrap_or(coverage_at);
        self.bitmap_bytes = shown_at + all;
        let start = self.images.len();
        for (at, (number, (image, layout))) in (0..).zip(chunk) {
            let system = self.systems.len() as u32;
            let (map, words, key) = (image.parameters, image.words, [image.key.0, image.key.1]);
            self.systems.push(FractalSystemLayout { map, words });
            self.images.push(FractalImageLayout { system, key, least: image.least, left: 0 });
            // In words of 32 bits.
            let bitmap_at = (shown_at + each * at) / 4;
            self.drawings.push(DrawingLayout { bitmap_at, ..*layout });
            if let Some(position) = self.positions.get_mut(*number) {
                *position = system as usize;
            }
        }
        let images = start..self.images.len();
        self.groups.push(Group { images, canvas, coverage_at, patches_at });
    }

    /// Yields the launches that draw, each with a limited number of images.
    pub(crate) fn launches(
        &self,
        at: &DrawingAddresses,
        max_images: usize,
    ) -> Vec<(FractalsLayout, u32)> {
        let launch = |group: &Group, first: usize| {
            let image_bytes = size_of::<FractalImageLayout>() as u64;
            let argument = FractalsLayout {
                systems: at.systems,
                images: at.images + group.images.start as u64 * image_bytes,
                coverage: at.bitmaps + group.coverage_at,
                patches: group.patches_at.map_or(0, |patches_at| at.bitmaps + patches_at),
                first_image: first as u32,
                size: group.canvas.size,
                pad: group.canvas.pad,
                n_steps: group.canvas.n_steps(),
            };
            (argument, (group.images.len() - first).min(max_images) as u32)
        };
        let firsts = |group: &Group| (0..group.images.len()).step_by(max_images);
        self.groups
            .iter()
            .flat_map(|group| firsts(group).map(move |first| launch(group, first)))
            .collect()
    }
}

fn canvas(image: &LanesImage) -> Canvas {
    Canvas { size: image.side, pad: image.pad, points: image.points }
}

fn kind(image: &LanesImage) -> Kind {
    (image.side, image.pad, image.points, image.patches)
}
