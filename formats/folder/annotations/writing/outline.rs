//! Polygons in the place of other shapes: around a mask, joined to one, and rectangles around them.
use fdconvert_core::RunLengths;

type Point = [f64; 2];

/// Larger masks are not traced: one byte is needed for each pixel of the box around a mask.
const MAX_PIXELS: u64 = 1 << 26;

/// Polygons with more pairs of points are joined at their first points.
const MAX_PAIRS: usize = 1 << 22;

/// The outlines of a mask along the edges of its pixels: one polygon for each group of pixels that
/// share edges, without the holes, whose number follows. `None` for a mask that is too large.
pub(in crate::folder) fn of_mask(mask: &RunLengths) -> Option<(Vec<Vec<Point>>, u64)> {
    let pixels = Pixels::of(mask)?;
    let mut visited = vec![false; pixels.inside.len()];
    let (mut polygons, mut n_holes) = (Vec::new(), 0);
    for y in 0..pixels.height {
        for x in 0..pixels.width {
            let is_start = pixels.has(x, y) && !pixels.has(x, y - 1);
            if !is_start || visited.get(pixels.at(x, y)).copied().unwrap_or(true) {
                continue;
            }
            let outline = pixels.follow([x, y], &mut visited);
            // Holes are followed the other way round.
            if signed_area(&outline) > 0.0 {
                polygons.push(outline);
            } else {
                n_holes += 1;
            }
        }
    }
    Some((polygons, n_holes))
}

/// Left, top, right and bottom of a box within an image, and whether it reached out of it.
pub(in crate::folder) fn cut(bbox: [f64; 4], sides: Point) -> ([f64; 4], bool) {
    let [left, top, width, height] = bbox;
    let (from, to) = ([left, top], [left + width, top + height]);
    let inside = [within(from, sides), within(to, sides)];
    // Boxes of whole images exceed them by an error of rounding.
    let exceeds = |[x, y]: Point, [to_x, to_y]: Point| {
        (x - to_x).abs() > ROUNDING || (y - to_y).abs() > ROUNDING
    };
    let [[left, top], [right, bottom]] = inside;
    let is_cut = exceeds(from, inside[0]) || exceeds(to, inside[1]);
    ([left, top, right, bottom], is_cut)
}

/// A thousandth of a pixel.
const ROUNDING: f64 = 1e-3;

pub(in crate::folder) fn within([x, y]: Point, [width, height]: Point) -> Point {
    [x.clamp(0.0, width), y.clamp(0.0, height)]
}

/// A number with at most eight digits behind the point, and no more than it needs.
pub(in crate::folder) fn rounded(value: f64) -> f64 {
    (value * 1e8).round() / 1e8
}

/// The pixels of the box around a mask, row by row.
struct Pixels {
    left: i64,
    top: i64,
    width: i64,
    height: i64,
    inside: Vec<bool>,
}

impl Pixels {
    fn of(mask: &RunLengths) -> Option<Self> {
        let [height, _] = mask.size();
        let height = u64::from(height).max(1);
        let runs = || {
            let mut at = 0_u64;
            let ends = mask.counts().iter().map(move |run| {
                let start = at;
                at += u64::from(*run);
                start..at
            });
            // Each run is split at the ends of columns.
            ends.skip(1).step_by(2).filter(|run| !run.is_empty()).flat_map(move |run| {
                let columns = run.start / height..=(run.end - 1) / height;
                columns.map(move |x| {
                    let (first, last) = (x * height, x * height + height);
                    (x, run.start.max(first) - first..run.end.min(last) - first)
                })
            })
        };
        let [mut left, mut top, mut right, mut bottom] = [u64::MAX, u64::MAX, 0, 0];
        for (x, rows) in runs() {
            (left, right) = (left.min(x), right.max(x + 1));
            (top, bottom) = (top.min(rows.start), bottom.max(rows.end));
        }
        let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
        let n_pixels = width.checked_mul(height).filter(|n| *n <= MAX_PIXELS)?;
        let mut inside = vec![false; usize::try_from(n_pixels).ok()?];
        for (x, rows) in runs() {
            for y in rows {
                let at = usize::try_from((y - top) * width + (x - left)).ok()?;
                if let Some(pixel) = inside.get_mut(at) {
                    *pixel = true;
                }
            }
        }
        let [left, top, width, height] = [left, top, width, height].map(|side| side as i64);
        Some(Self { left, top, width, height, inside })
    }

    fn at(&self, x: i64, y: i64) -> usize {
        (y * self.width + x) as usize
    }

    fn has(&self, x: i64, y: i64) -> bool {
        let is_there = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        is_there && self.inside.get(self.at(x, y)).copied().unwrap_or(false)
    }

    /// Follows the edge between inside (on the right) and outside, from the upper left corner of a
    /// pixel to the right and around, and marks the pixels whose upper edges it passes.
    fn follow(&self, start: [i64; 2], visited: &mut [bool]) -> Vec<Point> {
        const EAST: usize = 0;
        const STEPS: [[i64; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];
        // From a corner, the pixels in front of it, to the right and to the left.
        const RIGHT: [[i64; 2]; 4] = [[0, 0], [-1, 0], [-1, -1], [0, -1]];
        const LEFT: [[i64; 2]; 4] = [[0, -1], [0, 0], [-1, 0], [-1, -1]];
        let ([mut x, mut y], mut to) = (start, EAST);
        let mut points = vec![self.point(start)];
        loop {
            if to == EAST
                && let Some(mark) = visited.get_mut(self.at(x, y))
            {
                *mark = true;
            }
            let [dx, dy] = STEPS[to];
            (x, y) = (x + dx, y + dy);
            let is_inside = |[dx, dy]: [i64; 2]| self.has(x + dx, y + dy);
            let turn = match (is_inside(RIGHT[to]), is_inside(LEFT[to])) {
                (false, _) => 1,
                (true, true) => 3,
                (true, false) => 0,
            };
            to = (to + turn) % 4;
            if [x, y] == start && to == EAST {
                return points;
            }
            if turn != 0 {
                points.push(self.point([x, y]));
            }
        }
    }

    fn point(&self, [x, y]: [i64; 2]) -> Point {
        [(x + self.left) as f64, (y + self.top) as f64]
    }
}

/// Positive for points in the order of a clock, where y points down.
fn signed_area(points: &[Point]) -> f64 {
    let next = points.iter().cycle().skip(1);
    points.iter().zip(next).map(|([x, y], [next_x, next_y])| x * next_y - next_x * y).sum()
}

/// One polygon of several: each of the others is entered from the nearest point of those before,
/// and left to it again, so that only lines without an area are added.
pub(in crate::folder) fn joined(polygons: &[Vec<Point>]) -> Vec<Point> {
    let mut polygons = polygons.iter().filter(|polygon| !polygon.is_empty());
    let mut whole = polygons.next().cloned().unwrap_or_default();
    for polygon in polygons {
        let (at, from) = nearest(&whole, polygon);
        let entered = polygon.iter().cycle().skip(from).take(polygon.len() + 1).copied();
        let back = whole.get(at).copied();
        let detour: Vec<Point> = entered.chain(back).collect();
        let behind = (at + 1).min(whole.len());
        whole.splice(behind..behind, detour);
    }
    whole
}

/// The places of the two points that are nearest to each other.
fn nearest(one: &[Point], other: &[Point]) -> (usize, usize) {
    if one.len().saturating_mul(other.len()) > MAX_PAIRS {
        return (0, 0);
    }
    let mut best = (f64::INFINITY, (0, 0));
    for (i, [x, y]) in one.iter().enumerate() {
        for (k, [other_x, other_y]) in other.iter().enumerate() {
            let distance = (x - other_x).powi(2) + (y - other_y).powi(2);
            if distance < best.0 {
                best = (distance, (i, k));
            }
        }
    }
    best.1
}

/// The smallest rectangle around points, at any angle: one of its sides lies on their convex hull.
/// `None` without an area.
pub(in crate::folder) fn smallest_rectangle(points: &[Point]) -> Option<[Point; 4]> {
    let hull = convex_hull(points);
    let next = hull.iter().cycle().skip(1);
    let rectangles = hull.iter().zip(next).filter_map(|([x, y], [next_x, next_y])| {
        let (dx, dy) = (next_x - x, next_y - y);
        let length = dx.hypot(dy);
        let along = [dx / length, dy / length];
        let across = [-along[1], along[0]];
        let range = |[dx, dy]: Point| {
            let places = hull.iter().map(|[x, y]| x * dx + y * dy);
            places.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| {
                [low.min(at), high.max(at)]
            })
        };
        let ([left, right], [top, bottom]) = (range(along), range(across));
        let area = (right - left) * (bottom - top);
        let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
        let corners =
            corners.map(|[u, v]| [u * along[0] + v * across[0], u * along[1] + v * across[1]]);
        (area > 0.0).then_some((area, corners))
    });
    rectangles.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, corners)| corners)
}

/// Andrew's monotone chain.
fn convex_hull(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
    sorted.dedup();
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for point in points {
            while let [.., [ax, ay], [bx, by]] = chain[..] {
                let cross = (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax);
                if cross > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let lower = half(&mut sorted.iter().copied());
    [lower, half(&mut sorted.iter().rev().copied())].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::StoredRunLengths;

    fn mask(rows: &[&str]) -> RunLengths {
        let (height, width) = (rows.len(), rows[0].len());
        let (mut counts, mut is_inside) = (vec![0_u32], false);
        for x in 0..width {
            for row in rows {
                if (row.as_bytes()[x] == b'#') != is_inside {
                    is_inside = !is_inside;
                    counts.push(0);
                }
                *counts.last_mut().unwrap() += 1;
            }
        }
        let stored = format!("{{\"size\":[{height},{width}],\"counts\":{counts:?}}}");
        serde_json::from_str::<StoredRunLengths>(&stored).unwrap().decode().unwrap()
    }

    #[test]
    fn outlines_go_along_the_edges_of_pixels() {
        let (polygons, n_holes) = of_mask(&mask(&["....", ".##.", ".#..", "...#"])).unwrap();
        let corner = vec![[1., 1.], [3., 1.], [3., 2.], [2., 2.], [2., 3.], [1., 3.]];
        let single = vec![[3., 3.], [4., 3.], [4., 4.], [3., 4.]];
        assert_eq!((polygons, n_holes), (vec![corner, single], 0));
        let (polygons, n_holes) = of_mask(&mask(&["###", "#.#", "###"])).unwrap();
        assert_eq!((polygons, n_holes), (vec![vec![[0., 0.], [3., 0.], [3., 3.], [0., 3.]]], 1));
        assert_eq!(of_mask(&mask(&["..", ".."])).unwrap(), (Vec::new(), 0));
        // Pixels that share a corner alone are two groups.
        assert_eq!(of_mask(&mask(&["#.", ".#"])).unwrap().0.len(), 2);
    }

    #[test]
    fn polygons_are_joined_where_they_are_nearest() {
        let square = |x: f64| vec![[x, 0.], [x + 1., 0.], [x + 1., 1.], [x, 1.]];
        let whole = joined(&[square(0.0), square(3.0)]);
        assert_eq!(whole.len(), 4 + 4 + 2);
        assert!((signed_area(&whole) - 4.0).abs() < 1e-9);
        assert_eq!(joined(&[square(5.0)]), square(5.0));
        assert!(joined(&[]).is_empty());
    }

    #[test]
    fn rectangles_are_turned_with_their_points() {
        let diamond = [[1., 0.], [2., 1.], [1., 2.], [0., 1.], [1., 1.]];
        let corners = smallest_rectangle(&diamond).unwrap();
        let side = (corners[0][0] - corners[1][0]).hypot(corners[0][1] - corners[1][1]);
        assert!((side - 2_f64.sqrt()).abs() < 1e-9, "{corners:?}");
        assert_eq!(smallest_rectangle(&[[0., 0.], [1., 1.]]), None);
        assert_eq!(smallest_rectangle(&[]), None);
    }
}
