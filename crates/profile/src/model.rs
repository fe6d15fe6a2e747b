use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Cost of one image in one stored form, as a mean over the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Stored bytes per image; `s` in Liquid (APSys 2023).
    pub bytes_per_image: f64,
    /// CPU seconds to decode an image, on one thread with the bytes in memory; `d`.
    pub cpu_seconds_per_image: f64,
}

/// Capacity of the machine per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Bytes/s of the target at the request size and queue depth of the loader, past the page
    /// cache.
    pub read_bytes_per_s: f64,
    /// CPU seconds of decoding that fit in one second. Less than the number of threads if they
    /// share the units of a core or the memory bandwidth.
    pub effective_cores: f64,
    /// Bytes of the dataset that stay in memory between epochs; 0 for none.
    pub cache_bytes: f64,
    /// Largest number of images/s that training takes; `None` if unlimited; `G`.
    #[serde(default)]
    pub consumer_images_per_s: Option<f64>,
}

/// Images/s at some share of raw images. Infinite for an unused resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Images/s that reading allows; `L` in Liquid.
    #[serde(with = "unlimited")]
    pub loading: f64,
    /// Images/s that decoding allows; `D`.
    #[serde(with = "unlimited")]
    pub decoding: f64,
    /// Images/s that training takes; `G`.
    #[serde(with = "unlimited", default = "unlimited::none")]
    pub consumer: f64,
}

/// Utilisation of disk, processors and training at some share of raw images, each from 0 to 1: the
/// triangle of Liquid's figure 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// Share of time in which the disk reads.
    pub disk: f64,
    /// Share of time in which the processors decode.
    pub processors: f64,
    /// Share of time in which training works; 0 if its speed is unknown.
    pub consumer: f64,
}

/// The resource that decides the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// Reading is slower.
    Loading,
    /// Decoding is slower.
    Decoding,
    /// Both take equally long, to within a billionth.
    Both,
    /// Training is the limit; neither reading nor decoding is slower.
    Consumer,
    /// Neither takes any time: all bytes are cached and decoding is free.
    Nothing,
}

/// Two stored forms of the same images on a machine, checked: every number is finite and has a
/// valid sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    encoded: Cost,
    raw: Cost,
    machine: Machine,
    n_images: u64,
}

impl Throughput {
    /// Returns the total images/s: the slowest of the three, as they run in parallel.
    #[must_use]
    pub fn images_per_s(&self) -> f64 {
        self.loading.min(self.decoding).min(self.consumer)
    }

    /// Returns the utilisation of each of the three.
    #[must_use]
    pub fn busy(&self) -> Busy {
        let rate = self.images_per_s();
        // Without a limit nothing is busy.
        let share = |allowed: f64| if allowed.is_finite() { rate / allowed } else { 0.0 };
        Busy {
            disk: share(self.loading),
            processors: share(self.decoding),
            consumer: share(self.consumer),
        }
    }

    /// Returns the resource that decides.
    #[must_use]
    pub fn binding(&self) -> Binding {
        let slower = self.images_per_s();
        if slower.is_infinite() {
            return Binding::Nothing;
        }
        // There is nothing to gain, even if another takes as long.
        if self.consumer - slower <= 1e-9 * slower {
            return Binding::Consumer;
        }
        if (self.loading - self.decoding).abs() <= 1e-9 * slower {
            return Binding::Both;
        }
        if self.loading < self.decoding { Binding::Loading } else { Binding::Decoding }
    }
}

impl Model {
    /// Checks the inputs.
    ///
    /// # Errors
    /// `Usage`, naming the quantity that is not finite, is negative, or is zero so that nothing
    /// could be read or decoded.
    pub fn new(encoded: Cost, raw: Cost, machine: Machine, n_images: u64) -> Result<Self> {
        for (cost, name) in [(encoded, "the encoded format"), (raw, "the raw format")] {
            not_negative(&format!("bytes per image of {name}"), cost.bytes_per_image)?;
            not_negative(&format!("decode seconds of {name}"), cost.cpu_seconds_per_image)?;
        }
        positive("read bandwidth", machine.read_bytes_per_s)?;
        positive("effective cores", machine.effective_cores)?;
        not_negative("cache bytes", machine.cache_bytes)?;
        if let Some(rate) = machine.consumer_images_per_s {
            positive("images/s of training", rate)?;
        }
        if n_images == 0 {
            return Err(Error::usage("profile", "there are no images"));
        }
        Ok(Self { encoded, raw, machine, n_images })
    }

    /// Returns the form that is small and slow to decode.
    #[must_use]
    pub fn encoded(&self) -> Cost {
        self.encoded
    }

    /// Returns the form that is large and fast to decode.
    #[must_use]
    pub fn raw(&self) -> Cost {
        self.raw
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Returns the number of images in the dataset.
    #[must_use]
    pub fn n_images(&self) -> u64 {
        self.n_images
    }

    /// Returns the mean stored bytes per image, at a share of raw images from 0 to 1; `S(x)`.
    #[must_use]
    pub fn bytes_per_image(&self, share: f64) -> f64 {
        mix(self.encoded.bytes_per_image, self.raw.bytes_per_image, share)
    }

    /// Returns the bytes of the whole dataset, without the layout around the images.
    #[must_use]
    pub fn dataset_bytes(&self, share: f64) -> f64 {
        self.n_images as f64 * self.bytes_per_image(share)
    }

    /// Returns the share of the bytes that comes from the cache, 0 to 1; `h(x)`.
    #[must_use]
    pub fn cached(&self, share: f64) -> f64 {
        let dataset_bytes = self.dataset_bytes(share);
        if self.machine.cache_bytes >= dataset_bytes {
            return 1.0;
        }
        self.machine.cache_bytes / dataset_bytes
    }

    /// Returns the throughput of reading, decoding and training at a share.
    #[must_use]
    pub fn throughput(&self, share: f64) -> Throughput {
        let [loading, decoding, consumer] = self.lines().map(|line| rate(line.at(share)));
        Throughput { loading, decoding, consumer }
    }

    /// Returns the seconds per image of reading, of decoding and of training, as straight lines
    /// over the share. That of reading is negative where the cache holds more than the dataset; the
    /// maximum is still right, because decoding is never negative.
    pub(crate) fn lines(&self) -> [Line; 3] {
        let Machine { read_bytes_per_s, effective_cores, cache_bytes, consumer_images_per_s } =
            self.machine;
        let cached_per_image = cache_bytes / self.n_images as f64;
        let reading = |cost: Cost| (cost.bytes_per_image - cached_per_image) / read_bytes_per_s;
        let decoding = |cost: Cost| cost.cpu_seconds_per_image / effective_cores;
        let consumer = consumer_images_per_s.map_or(0.0, f64::recip);
        [
            Line { at_0: reading(self.encoded), at_1: reading(self.raw) },
            Line { at_0: decoding(self.encoded), at_1: decoding(self.raw) },
            Line { at_0: consumer, at_1: consumer },
        ]
    }
}

/// A straight line over the share of raw images.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) at_0: f64,
    pub(crate) at_1: f64,
}

impl Line {
    pub(crate) fn at(self, share: f64) -> f64 {
        mix(self.at_0, self.at_1, share)
    }
}

/// In this form both ends are exact.
fn mix(at_0: f64, at_1: f64, share: f64) -> f64 {
    (1.0 - share) * at_0 + share * at_1
}

/// Returns images/s from seconds per image; infinite for zero or less.
pub(crate) fn rate(seconds: f64) -> f64 {
    if seconds > 0.0 { seconds.recip() } else { f64::INFINITY }
}

pub(crate) fn not_negative(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::usage("profile", format!("{what}: {value} is not a number from 0 up")))
}

pub(crate) fn positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::usage("profile", format!("{what}: {value} is not a number above 0")))
}

/// Infinity as `null`, because JSON cannot represent it.
pub(crate) mod unlimited {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    /// The rate of an older report without one.
    pub(crate) fn none() -> f64 {
        f64::INFINITY
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
