//! Images that stay in the GPU's memory, with a fake driver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use crate::common::{photographs, small};
use fdconvert_gpu::{
    Batch, Crop, Decoder, Driver, Fallback, Gpu, GpuError, Limits, NotStored, Order, Output, Plan,
    Request, SampleType, Source, Status, Store, Stored, Tensor,
};
use fdconvert_gpu_emul::{FakeDriver, FakeMachine, decode};
use fdconvert_jpeg::stored_entry_points;

const TENSOR: Output = Output::Tensor(Tensor {
    width: 24,
    height: 20,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
});

/// Small enough that there are several chunks.
const LIMITS: Limits = Limits { chunk_blocks: 500, max_image_blocks: 1 << 20 };
const CAPACITY: u64 = 64 << 20;

/// Files with their entry points.
struct Set(Vec<(Vec<u8>, Vec<u8>)>);

impl Set {
    fn new(images: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let indexed = images.into_iter().map(|(_, bytes)| {
            let entry_points = stored_entry_points(&bytes, 1024).unwrap();
            (bytes, entry_points)
        });
        Self(indexed.collect())
    }

    /// Small images and a few photographs.
    fn mixed() -> Self {
        Self::new(small().into_iter().chain(photographs(1).into_iter().take(5)))
    }

    fn files(&self) -> Vec<(&[u8], Option<&[u8]>)> {
        let all = self.0.iter();
        all.map(|(bytes, entry_points)| (&bytes[..], Some(&entry_points[..]))).collect()
    }

    /// Requests all of the set's images from the host's memory.
    fn requests(&self) -> Vec<Request<'_>> {
        let files = self.files().into_iter().enumerate();
        files
            .map(|(number, (bytes, entry_points))| {
                let image = Request::whole(bytes, entry_points);
                Request { crop: crop(number), flip: number % 2 == 0, ..image }
            })
            .collect()
    }
}

/// A different crop for every number.
fn crop(number: usize) -> Crop {
    let part = |modulus: usize| (number * 7 % modulus) as f32 / modulus as f32;
    let (left, top) = (part(5) * 0.5, part(3) * 0.6);
    Crop { left, top, width: (1.0 - left) * 0.8, height: (1.0 - top) * 0.7 }
}

fn open() -> Result<Gpu, GpuError> {
    Gpu::open(&Driver::load(Some(FakeDriver::path()))?, 0)
}

fn store_all(gpu: &Gpu, set: &Set) -> (Store, Vec<Stored>) {
    let mut store = Store::new(gpu, CAPACITY, LIMITS).unwrap();
    let stored = store.add(&set.files()).unwrap();
    (store, stored.into_iter().map(Result::unwrap).collect())
}

/// Replaces images by stored ones, where `is_stored` says so.
fn of_stored<'a>(
    requests: &[Request<'a>],
    stored: &'a [Stored],
    is_stored: impl Fn(usize) -> bool,
) -> Vec<Request<'a>> {
    let each = requests.iter().zip(stored).enumerate();
    each.map(|(number, (request, stored))| match is_stored(number) {
        true => Request { image: Source::Stored(stored), ..*request },
        false => *request,
    })
    .collect()
}

/// Compares a batch with that of the same images from the host's memory, and returns its content.
#[track_caller]
fn check(batch: &Batch, travelling: &[Request<'_>], output: Output) -> u64 {
    let plan = Plan::new(travelling, output, LIMITS);
    let expected = decode(&plan, travelling);
    assert_eq!(batch.statuses(), plan.statuses(&expected.states));
    assert!(batch.download().unwrap().unwrap() == expected.output);
    batch.n_bytes()
}

#[test]
fn stored_images_are_the_same_as_travelling_ones() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::mixed();
    let all = set.requests();
    {
        let gpu = open().unwrap();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let (store, stored) = store_all(&gpu, &set);
        let mut compared = 0;
        for output in [Output::Native, TENSOR] {
            for is_stored in [|_| true, |number| number % 2 == 0, |number| number % 3 == 0] {
                let requests = of_stored(&all, &stored, is_stored);
                let batch = decoder.decode(&requests, output).unwrap();
                compared += check(&batch, &all, output);
            }
        }
        // Twice in one batch, each time with another crop.
        let twice: Vec<_> = (0..2 * all.len())
            .map(|number| Request { crop: crop(number + 1), ..all[number % all.len()] })
            .collect();
        let handles = [stored.clone(), stored.clone()].concat();
        let requests = of_stored(&twice, &handles, |_| true);
        compared += check(&decoder.decode(&requests, TENSOR).unwrap(), &twice, TENSOR);
        println!("{} images, {compared} bytes compared", all.len());

        // No scan is uploaded with them, and the rest is small.
        let requests = of_stored(&all, &stored, |_| true);
        let n_bytes = |requests: &[_]| Plan::new(requests, TENSOR, LIMITS).upload_bytes();
        let (travelling, resident) = (n_bytes(&all), n_bytes(&requests));
        assert_eq!(travelling - resident, store.used_bytes().next_multiple_of(256));
        let photographs = n_bytes(&requests[requests.len() - 5..]);
        let n_photographs: usize = set.0[set.0.len() - 5..].iter().map(|it| it.0.len()).sum();
        println!("photographs of {n_photographs} bytes: {photographs} bytes travel");
        assert!(photographs * 12 < n_photographs as u64);

        for (stored, (bytes, _)) in stored.iter().zip(&set.0) {
            let jpeg = fdconvert_jpeg::parse(bytes).unwrap();
            assert_eq!((stored.width(), stored.height()), (jpeg.width, jpeg.height));
        }
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// Neither the store nor the handles need to live until a batch is done; and their memory is freed
/// after its last use.
#[test]
fn images_outlive_their_store() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(6));
    let all = set.requests();
    {
        let gpu = open().unwrap();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let before = fake.counters().device_memory;
        let (store, stored) = store_all(&gpu, &set);
        assert!(store.used_bytes() > 0 && store.used_bytes() < store.capacity_bytes());
        drop(store);
        assert_eq!(fake.counters().device_memory, before + 1);
        let pending = {
            let stored = stored.clone();
            decoder.submit(&of_stored(&all, &stored, |_| true), TENSOR).unwrap()
        };
        let dropped = decoder.submit(&of_stored(&all, &stored, |_| true), TENSOR).unwrap();
        let on_their_way = fake.counters().device_memory;
        drop(stored);
        assert_eq!(fake.counters().device_memory, on_their_way);
        drop(dropped);
        check(&pending.wait().unwrap(), &all, TENSOR);
        drop(decoder);
        assert_eq!(fake.counters().device_memory, before);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn a_full_store_says_so() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(8));
    let all = set.requests();
    {
        let gpu = open().unwrap();
        let capacity = set.0.iter().take(4).map(|it| it.0.len() as u64).sum::<u64>() + 64;
        let mut store = Store::new(&gpu, capacity, LIMITS).unwrap();
        let outcomes = store.add(&set.files()).unwrap();
        let n_stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        println!("{n_stored} of {} images fit", outcomes.len());
        assert!((4..8).contains(&n_stored) && outcomes[..4].iter().all(Result::is_ok));
        assert!(outcomes.iter().all(|it| matches!(it, Ok(_) | Err(NotStored::Full))));
        assert!(store.used_bytes() <= capacity);
        let requests: Vec<_> = all
            .iter()
            .zip(&outcomes)
            .map(|(request, outcome)| match outcome {
                Ok(stored) => Request { image: Source::Stored(stored), ..*request },
                Err(_) => *request,
            })
            .collect();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        check(&decoder.decode(&requests, TENSOR).unwrap(), &all, TENSOR);
        let mut nothing = Store::new(&gpu, 0, LIMITS).unwrap();
        assert!(matches!(nothing.add(&set.files()[..1]).unwrap()[0], Err(NotStored::Full)));
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// If the GPU has less memory than the store's capacity, smaller pieces are tried until it is full;
/// with free memory, it continues.
#[test]
fn a_full_gpu_says_so() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(2));
    let all = set.requests();
    {
        let gpu = open().unwrap();
        fake.pretend(FakeMachine { memory_bytes: 3 << 20, ..FakeMachine::DEFAULT });
        let mut store = Store::new(&gpu, 1 << 40, LIMITS).unwrap();
        // A few at a time, because pinned memory is scarce too.
        let files = set.files();
        let small: Vec<_> = files.chunks(3).flat_map(|files| store.add(files).unwrap()).collect();
        let pieces = fake.counters().device_memory;
        let n_stored = small.iter().filter(|outcome| outcome.is_ok()).count();
        println!("{n_stored} of {} images fit into {pieces} pieces", small.len());
        assert!(n_stored > 8 && n_stored < small.len() && pieces > 1);
        assert!(store.used_bytes() <= 3 << 20);
        fake.pretend(FakeMachine::DEFAULT);
        let stored: Vec<_> = small
            .into_iter()
            .zip(set.files())
            .map(|(outcome, file)| match outcome {
                Ok(stored) => stored,
                Err(reason) => {
                    assert_eq!(reason, NotStored::Full);
                    store.add(&[file]).unwrap().remove(0).unwrap()
                }
            })
            .collect();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let requests = of_stored(&all, &stored, |_| true);
        check(&decoder.decode(&requests, TENSOR).unwrap(), &all, TENSOR);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// More than one copy holds.
#[test]
fn many_images_take_several_copies() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(8));
    let n_bytes: usize = set.0.iter().map(|it| it.0.len()).sum();
    let n_images = (70 << 20) / n_bytes * 8;
    let files: Vec<_> = set.files().into_iter().cycle().take(n_images).collect();
    {
        let gpu = open().unwrap();
        let mut store = Store::new(&gpu, 80 << 20, LIMITS).unwrap();
        let stored: Vec<_> = store.add(&files).unwrap().into_iter().map(Result::unwrap).collect();
        println!("{n_images} images, {} bytes", store.used_bytes());
        assert!(store.used_bytes() > 64 << 20);
        let step = n_images / 9;
        let travelling: Vec<_> = files
            .iter()
            .step_by(step)
            .map(|(bytes, entry_points)| Request::whole(bytes, *entry_points))
            .collect();
        let requests: Vec<_> = stored.iter().step_by(step).map(Request::stored).collect();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let output = Output::Native;
        check(&decoder.decode(&requests, output).unwrap(), &travelling, output);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn bad_images_are_refused_or_found() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(3));
    let mut damaged = set.0[1].0.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0x5A);
    let entry_points = |number: usize| Some(set.0[number].1.as_slice());
    {
        let gpu = open().unwrap();
        let limits = Limits { max_image_blocks: 50_000, ..LIMITS };
        let mut store = Store::new(&gpu, CAPACITY, limits).unwrap();
        let files: [(&[u8], _); 4] = [
            (&set.0[0].0, None),
            (b"no JPEG", entry_points(0)),
            (&damaged, entry_points(1)),
            (&set.0[2].0, entry_points(2)),
        ];
        let outcomes = store.add(&files).unwrap();
        assert!(matches!(outcomes[0], Err(NotStored::Fallback(Fallback::NoEntryPoints))));
        assert!(matches!(outcomes[1], Err(NotStored::Fallback(Fallback::Jpeg(_)))));
        let stored: Vec<_> = outcomes.into_iter().flatten().collect();
        let requests: Vec<_> = stored.iter().map(Request::stored).collect();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let batch = decoder.decode(&requests, TENSOR).unwrap();
        assert!(matches!(batch.statuses(), [Status::Damaged(_), Status::Decoded]));

        // Too large for a decoder, though not for the store, and the reverse.
        let limits = Limits { max_image_blocks: 100, ..LIMITS };
        let mut strict = Decoder::new(&gpu, limits).unwrap();
        let statuses = strict.decode(&requests, TENSOR).unwrap().statuses().to_vec();
        let is_too_large =
            |it: &Status| matches!(it, Status::Fallback(Fallback::TooLarge { limit: 100, .. }));
        assert!(statuses.iter().all(is_too_large), "{statuses:?}");
        let mut store = Store::new(&gpu, CAPACITY, limits).unwrap();
        let refused = &store.add(&files[3..]).unwrap()[0];
        let too_large = matches!(refused, Err(NotStored::Fallback(Fallback::TooLarge { .. })));
        assert!(too_large, "{refused:?}");
        assert_eq!(store.used_bytes(), 0);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn images_of_another_gpu_are_refused() {
    let fake = FakeDriver::take().unwrap();
    fake.pretend(FakeMachine { n_devices: 2, ..FakeMachine::DEFAULT });
    let set = Set::new(small().into_iter().take(3));
    {
        let driver = Driver::load(Some(FakeDriver::path())).unwrap();
        let (_store, stored) = store_all(&Gpu::open(&driver, 1).unwrap(), &set);
        let requests: Vec<_> = stored.iter().map(Request::stored).collect();
        let mut there = Decoder::new(&Gpu::open(&driver, 1).unwrap(), LIMITS).unwrap();
        assert!(there.decode(&requests, TENSOR).is_ok());
        let mut elsewhere = Decoder::new(&Gpu::open(&driver, 0).unwrap(), LIMITS).unwrap();
        assert_eq!(elsewhere.decode(&requests, TENSOR).err(), Some(GpuError::OtherGpu));
        let travelling = set.requests();
        check(&elsewhere.decode(&travelling, TENSOR).unwrap(), &travelling, TENSOR);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// Opens, stores in two steps, decodes two batches, copies one back. `None` if the store is full.
fn everything(set: &Set) -> Result<Option<Vec<u8>>, GpuError> {
    let gpu = open()?;
    let mut store = Store::new(&gpu, CAPACITY, LIMITS)?;
    let files = set.files();
    let mut outcomes = store.add(&files[..3])?;
    outcomes.extend(store.add(&files[3..])?);
    drop(store);
    let stored = outcomes.into_iter().collect::<Result<Vec<_>, _>>();
    let Ok(stored) = stored else { return Ok(None) };
    let mut decoder = Decoder::new(&gpu, LIMITS)?;
    let travelling = set.requests();
    let requests = of_stored(&travelling, &stored, |number| number != 1);
    drop(decoder.submit(&requests[..2], TENSOR)?);
    let pending = decoder.submit(&requests, TENSOR)?;
    drop(requests);
    drop(stored);
    Ok(Some(pending.wait()?.download()?.unwrap_or_default()))
}

#[test]
fn every_call_may_fail() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().skip(20).take(8));
    let expected = everything(&set).unwrap().unwrap();
    let n_calls = fake.counters().calls;
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
    let (mut n_errors, mut n_survived) = (0, 0);
    for call in 1..=n_calls {
        for code in [2, 719] {
            fake.reset();
            fake.fail(call, code);
            match everything(&set) {
                Err(GpuError::OutOfMemory { .. }) if code == 2 => n_errors += 1,
                Err(GpuError::Driver { code: 719, .. }) if code == 719 => n_errors += 1,
                Err(error) => panic!("call {call}, {code}: {error:?}"),
                // A smaller piece was tried, or a resource was released.
                Ok(output) => {
                    assert!(output.as_ref() == Some(&expected), "call {call}, {code}");
                    n_survived += 1;
                }
            }
            let counters = fake.counters();
            assert!(counters.is_clean(), "call {call}, {code}: {counters:?}");
        }
    }
    println!("{n_calls} calls: {n_errors} typed errors, {n_survived} without effect, no leak");
}

/// After a failure the store still works, and keeps its images.
#[test]
fn a_failed_upload_leaves_the_store_usable() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().skip(20).take(8));
    let (files, all) = (set.files(), set.requests());
    {
        let gpu = open().unwrap();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        let count = |store: &mut Store| {
            fake.reset();
            store.add(&files[4..]).unwrap();
            fake.counters().calls
        };
        let n_calls = count(&mut store_all(&gpu, &set).0);
        for call in 1..=n_calls {
            let mut store = Store::new(&gpu, CAPACITY, LIMITS).unwrap();
            let mut stored: Vec<Stored> =
                store.add(&files[..4]).unwrap().into_iter().map(Result::unwrap).collect();
            let used_bytes = store.used_bytes();
            fake.reset();
            fake.fail(call, 719);
            let failed = store.add(&files[4..]);
            fake.reset();
            if failed.is_err() {
                assert_eq!(store.used_bytes(), used_bytes);
            }
            stored.extend(store.add(&files[4..]).unwrap().into_iter().map(Result::unwrap));
            let requests = of_stored(&all, &stored, |_| true);
            check(&decoder.decode(&requests, TENSOR).unwrap(), &all, TENSOR);
        }
        println!("{n_calls} calls of an upload failed in turn");
        assert!(n_calls > 2);
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn threads_may_share_stored_images() {
    fn check<T: Send>() {}
    fn check_shared<T: Send + Sync>() {}
    check::<Store>();
    check_shared::<Stored>();
}
