//! Compiles changes: cuts, resizes and flips that follow each other become one rectangle.
//!
//! The rectangle of the first ones is what the decoder has to produce. After a resize, further cuts
//! only make the rectangle smaller, as long as no pixel is outside; a second resize, or anything
//! that is not a cut, a resize or a flip, works on the pixels made so far.
use super::{
    super::geometry::{Area, Rect, reach},
    Change, Interpolation,
};

/// A part of the work on an image.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stage {
    /// The pixels of a rectangle.
    Resample(Resample),
    /// A change of the pixels made so far.
    Change(Change),
}

/// A rectangle of an image, stretched over a size, and perhaps mirrored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Resample {
    /// The rectangle, in pixels of the image.
    pub(crate) rect: Rect,
    /// All pixels that the resize reads.
    pub(crate) needed: Area,
    /// Width and height of the result.
    pub(crate) size: (u32, u32),
    /// Whether left and right are exchanged at the end.
    pub(crate) mirrored: bool,
    /// Whether top and bottom are exchanged at the end.
    pub(crate) upside_down: bool,
}

/// A rectangle that may still become smaller.
#[derive(Debug, Clone, Copy)]
struct Window {
    rect: Rect,
    /// What a resize sees of the image: it repeats nothing from outside.
    bounds: Area,
    size: (u32, u32),
    is_resized: bool,
    mirrored: bool,
    upside_down: bool,
}

impl Window {
    fn whole(size: (u32, u32)) -> Self {
        let bounds = Area { x: 0, y: 0, width: size.0, height: size.1 };
        let (is_resized, mirrored, upside_down) = (false, false, false);
        Self { rect: bounds.into(), bounds, size, is_resized, mirrored, upside_down }
    }

    /// Applies a change; returns false if it has to work on pixels.
    fn takes(&mut self, change: &Change) -> bool {
        match *change {
            Change::HorizontalFlip => self.mirrored = !self.mirrored,
            Change::VerticalFlip => self.upside_down = !self.upside_down,
            Change::Resize { size: [height, width], .. } if (width, height) == self.size => {}
            Change::Resize { size: [height, width], interpolation: Interpolation::Bilinear }
                if !self.is_resized =>
            {
                (self.size, self.is_resized) = ((width, height), true);
            }
            Change::Crop { top, left, height, width } => {
                return self.cut((left, width), (top, height)).is_some();
            }
            _ => return false,
        }
        true
    }

    /// Cuts; `None` if a part is outside.
    fn cut(&mut self, (left, width): (i64, u32), (top, height): (i64, u32)) -> Option<()> {
        let start = |at: i64, length: u32, side: u32, is_reversed: bool| {
            let at = u32::try_from(at).ok()?;
            let behind = side.checked_sub(at.checked_add(length)?)?;
            (length > 0).then_some(if is_reversed { behind } else { at })
        };
        let left = start(left, width, self.size.0, self.mirrored)?;
        let top = start(top, height, self.size.1, self.upside_down)?;
        if !self.is_resized {
            let (x, y) = (self.bounds.x + left, self.bounds.y + top);
            self.bounds = Area { x, y, width, height };
            self.rect = self.bounds.into();
        } else {
            let (columns, rows) = (f64::from(self.size.0), f64::from(self.size.1));
            let rect = self.rect;
            self.rect = Rect {
                x: rect.x + f64::from(left) * rect.width / columns,
                y: rect.y + f64::from(top) * rect.height / rows,
                width: f64::from(width) * rect.width / columns,
                height: f64::from(height) * rect.height / rows,
            };
        }
        self.size = (width, height);
        Some(())
    }

    fn resample(self) -> Resample {
        let Self { rect, bounds, size, mirrored, upside_down, .. } = self;
        let (x, width) = reach(rect.x - f64::from(bounds.x), rect.width, size.0, bounds.width);
        let (y, height) = reach(rect.y - f64::from(bounds.y), rect.height, size.1, bounds.height);
        let needed = Area { x: bounds.x + x, y: bounds.y + y, width, height };
        Resample { rect, needed, size, mirrored, upside_down }
    }
}

/// Compiles changes of an image of this width and height. The first stage takes pixels of the image.
pub(crate) fn fuse(changes: Vec<Change>, size: (u32, u32)) -> Vec<Stage> {
    let mut stages = Vec::with_capacity(1 + changes.len());
    let mut window = Some(Window::whole(size));
    let mut size = size;
    for change in changes {
        let next = change.size(size);
        if change.is_cut_resize_or_flip() {
            let open = window.get_or_insert_with(|| Window::whole(size));
            if open.takes(&change) {
                size = next;
                continue;
            }
        }
        // A second resize begins another rectangle, of the pixels of this one.
        if let Some(open) = window.take() {
            stages.push(Stage::Resample(open.resample()));
        }
        let mut again = Window::whole(size);
        if change.is_cut_resize_or_flip() && again.takes(&change) {
            window = Some(again);
        } else {
            stages.push(Stage::Change(change));
        }
        size = next;
    }
    if let Some(open) = window {
        stages.push(Stage::Resample(open.resample()));
    }
    stages
}
