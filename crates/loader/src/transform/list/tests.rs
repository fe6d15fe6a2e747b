//! Lists in documents, and what they mix.
use super::{
    super::output::{DType, Layout, Output},
    *,
};
use fdconvert_core::KeyedRandom;

/// Numbers of a test's lists.
struct Numbers(KeyedRandom);

impl Numbers {
    fn below(&mut self, n: u32) -> u32 {
        self.0.below(u64::from(n)) as u32
    }

    fn side(&mut self) -> u32 {
        1 + self.below(Output::MAX_SIDE)
    }

    fn sides<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.side())
    }

    fn number(&mut self, from: f64, to: f64) -> f64 {
        self.0.between(from, to)
    }

    fn range(&mut self, from: f64, to: f64) -> [f64; 2] {
        let least = self.number(from, to);
        [least, self.number(least, to)]
    }

    fn fill(&mut self) -> Fill {
        std::array::from_fn(|_| self.below(256) as u8)
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| value(self))
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize].clone()
    }

    fn interpolation(&mut self) -> Interpolation {
        self.pick(&[Interpolation::Nearest, Interpolation::Bilinear])
    }

    fn padding_mode(&mut self) -> PaddingMode {
        use PaddingMode::{Constant, Edge, Reflect, Symmetric};
        self.pick(&[Constant, Edge, Reflect, Symmetric])
    }

    fn list(&mut self, depth: u32) -> Vec<Transform> {
        (0..=self.below(3)).map(|_| self.transform(depth)).collect()
    }

    /// Any transform of images; with further ones in it as deep as that.
    fn transform(&mut self, depth: u32) -> Transform {
        use Transform as T;
        let p = self.number(0.0, 1.0);
        let (interpolation, padding_mode) = (self.interpolation(), self.padding_mode());
        let fill = self.fill();
        let last = if depth > 0 { 32 } else { 29 };
        match self.below(last) {
            0 => {
                let short = self.side();
                let max_size = self.maybe(|it| it.side()).filter(|most| *most > short);
                T::Resize { size: ResizeTo::Short(short), max_size, interpolation }
            }
            1 => {
                let size = ResizeTo::Exact(self.sides());
                T::Resize { size, max_size: None, interpolation }
            }
            2 => T::CenterCrop { size: self.sides() },
            3 => {
                let (padding, pad_if_needed) = (self.maybe(Self::sides), self.below(2) == 0);
                T::RandomCrop { size: self.sides(), padding, pad_if_needed, fill, padding_mode }
            }
            4 => {
                let (scale, ratio) = (self.range(0.01, 1.0), self.range(0.1, 9.0));
                T::RandomResizedCrop { size: self.sides(), scale, ratio }
            }
            5 => T::ScaleJitter { target_size: self.sides(), scale_range: self.range(0.01, 9.0) },
            6 => T::Letterbox { size: self.sides(), fill },
            7 => T::Pad { padding: self.sides(), fill, padding_mode },
            8 => T::RandomHorizontalFlip { p },
            9 => T::RandomVerticalFlip { p },
            10 => {
                let (expand, center) = (self.below(2) == 0, self.maybe(|it| it.range(-9.0, 9.0)));
                let degrees = self.range(-180.0, 180.0);
                T::RandomRotation { degrees, interpolation, expand, center, fill }
            }
            11 => T::RandomAffine {
                degrees: self.range(-180.0, 180.0),
                translate: self.maybe(|it| it.range(0.0, 1.0)),
                scale: self.maybe(|it| it.range(0.1, 3.0)),
                shear: self.maybe(|it| {
                    let ([a, b], [c, d]) = (it.range(-80.0, 80.0), it.range(-80.0, 80.0));
                    [a, b, c, d]
                }),
                interpolation,
                fill,
                center: self.maybe(|it| it.range(-9.0, 9.0)),
            },
            12 => {
                let distortion_scale = self.number(0.0, 1.0);
                T::RandomPerspective { distortion_scale, p, interpolation, fill }
            }
            13 => T::ColorJitter {
                brightness: self.maybe(|it| it.range(0.0, 3.0)),
                contrast: self.maybe(|it| it.range(0.0, 3.0)),
                saturation: self.maybe(|it| it.range(0.0, 3.0)),
                hue: self.maybe(|it| it.range(-0.5, 0.5)),
            },
            14 => T::Grayscale {},
            15 => T::RandomGrayscale { p },
            16 => {
                let kernel_size = [1 + 2 * self.below(20), 1 + 2 * self.below(20)];
                T::GaussianBlur { kernel_size, sigma: self.range(0.01, 9.0) }
            }
            17 => T::RandomInvert { p },
            18 => T::RandomPosterize { bits: self.below(9) as u8, p },
            19 => T::RandomSolarize { threshold: self.number(0.0, 256.0), p },
            20 => T::RandomAdjustSharpness { sharpness_factor: self.number(0.0, 9.0), p },
            21 => T::RandomAutocontrast { p },
            22 => T::RandomEqualize { p },
            23 => {
                let (scale, ratio) = (self.range(0.0, 1.0), self.range(0.1, 9.0));
                T::RandomErasing { p, scale, ratio, value: EraseValue::Constant(fill) }
            }
            24 => {
                let [mean, std] = [(); 2].map(|()| [(); 3].map(|()| self.number(0.0, 255.0)));
                let (scale, ratio) = (self.range(0.0, 1.0), self.range(0.1, 9.0));
                T::RandomErasing { p, scale, ratio, value: EraseValue::Pixels { mean, std } }
            }
            25 => {
                let policy = self.pick(&[Policy::ImageNet, Policy::Cifar10, Policy::Svhn]);
                T::AutoAugment { policy, interpolation, fill }
            }
            26 => {
                let num_magnitude_bins = 2 + self.below(60);
                let (num_ops, magnitude) = (self.below(9), self.below(num_magnitude_bins));
                T::RandAugment { num_ops, magnitude, num_magnitude_bins, interpolation, fill }
            }
            27 => {
                let num_magnitude_bins = 2 + self.below(60);
                T::TrivialAugmentWide { num_magnitude_bins, interpolation, fill }
            }
            28 => T::AugMix {
                severity: 1 + self.below(10),
                mixture_width: 1 + self.below(9),
                chain_depth: self.below(9) as i32 - 1,
                alpha: self.number(0.1, 9.0),
                all_ops: self.below(2) == 0,
                interpolation,
                fill,
            },
            29 => T::RandomApply { transforms: self.list(depth - 1), p },
            30 => T::RandomOrder { transforms: self.list(depth - 1) },
            _ => {
                let transforms = self.list(depth - 1);
                let p = self.maybe(|it| transforms.iter().map(|_| it.number(0.1, 9.0)).collect());
                T::RandomChoice { transforms, p }
            }
        }
    }

    /// MixUp, CutMix, a choice between them, or one of these sometimes.
    fn mixing(&mut self) -> Transform {
        use Transform as T;
        let num_classes = self.maybe(|it| it.side());
        let [mixup, cutmix] = [(); 2].map(|()| self.number(0.1, 9.0));
        let mixup = T::MixUp { alpha: mixup, num_classes };
        let cutmix = T::CutMix { alpha: cutmix, num_classes };
        let mixing = match self.below(4) {
            0 => mixup,
            1 => cutmix,
            both => {
                let p = self.maybe(|it| vec![it.number(0.0, 1.0), it.number(0.1, 1.0)]);
                let mut transforms = vec![mixup, cutmix];
                if both == 3 {
                    transforms.reverse();
                }
                T::RandomChoice { transforms, p }
            }
        };
        match self.maybe(|it| it.number(0.0, 1.0)) {
            Some(p) => T::RandomApply { transforms: vec![mixing], p },
            None => mixing,
        }
    }

    /// A list of everything, its last part in any order.
    fn whole(&mut self) -> Vec<Transform> {
        let dtype = self.pick(&[DType::F16, DType::F32]);
        let [mean, std] = [(); 2].map(|()| [(); 3].map(|()| self.number(0.1, 1.0) as f32));
        let mut list = self.list(3);
        list.extend(self.maybe(|it| it.mixing()));
        let form = [
            Transform::Normalize { mean: mean.into(), std: std.into() },
            Transform::ToDtype { dtype },
            Transform::ToLayout { layout: self.pick(&[Layout::Nhwc, Layout::Nchw]) },
        ];
        let first = self.below(3) as usize;
        list.extend((0..self.below(4) as usize).map(|at| form[(first + at) % 3].clone()));
        list
    }
}

#[test]
fn any_list_comes_back_equal_from_a_document() {
    let mut names = std::collections::BTreeSet::new();
    for seed in 0..3000 {
        let written = Numbers(KeyedRandom::new(&[seed])).whole();
        names.extend(written.iter().map(Transform::name));
        let list = TransformList::new(written.clone()).unwrap();
        let document = serde_json::to_string(&list).unwrap();
        assert!(document.starts_with("[{\""), "{document}");
        assert_eq!(serde_json::from_str::<TransformList>(&document).unwrap(), list, "{document}");
        assert_eq!(list.transforms(), written);
    }
    assert_eq!(names.len(), 35, "{names:?}");
}

/// The arguments that a document leaves out are torchvision's, and what is wrong is refused.
#[test]
fn a_document_is_checked_when_it_is_read() {
    let read = |text: &str| serde_json::from_str::<TransformList>(text);
    let list = r#"[{"RandomResizedCrop":{"size":[224,224]}},{"RandomHorizontalFlip":{}}]"#;
    assert_eq!(read(list).unwrap(), TransformList::rrc(224).unwrap());
    for (text, part) in [
        (r#"[{"Posterise":{}}]"#, "unknown variant `Posterise`, expected one of `Resize`"),
        (r#"[{"RandomInvert":{"prob":1}}]"#, "unknown field `prob`, expected `p`"),
        (r#"[{"RandomInvert":{"p":2}}]"#, "RandomInvert: p=2 is not a probability"),
        (r#"[{"ToDtype":{"dtype":"f32"}},{"RandomInvert":{}}]"#, "comes before ToDtype"),
    ] {
        let said = read(text).unwrap_err().to_string();
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn rows_are_mixed_as_the_list_says() {
    let mixup = Transform::MixUp { alpha: 0.2, num_classes: Some(10) };
    let cutmix = Transform::CutMix { alpha: 1.0, num_classes: Some(10) };
    let sometimes = |it: &Transform, p| Transform::RandomApply { transforms: vec![it.clone()], p };
    let choice = |list: [&Transform; 2], p: Option<[f64; 2]>| Transform::RandomChoice {
        transforms: list.map(Transform::clone).into(),
        p: p.map(Into::into),
    };
    for (transform, alphas, mix_prob, switch_prob) in [
        (mixup.clone(), (0.2, 0.0), 1.0, None),
        (sometimes(&sometimes(&cutmix, 0.5), 0.5), (0.0, 1.0), 0.25, None),
        (choice([&mixup, &cutmix], None), (0.2, 1.0), 1.0, Some(0.5)),
        (choice([&cutmix, &mixup], Some([3.0, 1.0])), (0.2, 1.0), 1.0, Some(0.75)),
        (sometimes(&choice([&mixup, &cutmix], Some([3.0, 1.0])), 0.5), (0.2, 1.0), 0.5, Some(0.25)),
    ] {
        let mix = *TransformList::new(vec![transform.clone()]).unwrap().mix().unwrap();
        assert_eq!(((mix.mixup, mix.cutmix), mix.mix_prob), (alphas, mix_prob), "{transform:?}");
        assert_eq!(mix.num_classes, Some(10));
        assert!(switch_prob.is_none_or(|it| it == mix.switch_prob), "{transform:?}: {mix:?}");
    }
    let other = Transform::CutMix { alpha: 1.0, num_classes: None };
    for (transform, part) in [
        (choice([&mixup, &other], None), "the same num_classes"),
        (choice([&mixup, &mixup], None), "between one MixUp and one CutMix"),
        (choice([&mixup, &sometimes(&cutmix, 0.5)], None), "between one MixUp and one CutMix"),
        (sometimes(&mixup, 1.5), "p=1.5 is not a probability"),
    ] {
        let said = TransformList::new(vec![transform]).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
}
