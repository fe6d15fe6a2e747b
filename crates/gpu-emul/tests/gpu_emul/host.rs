//! The host's part of fdconvert-gpu, with a fake driver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use crate::common::{photographs, small};
use fdconvert_gpu::{
    Backend, Batch, Crop, Decoder, Diagnostics, Driver, Fallback, Gpu, GpuError, Kernel, Limits,
    Order, Output, Pending, Plan, Probe, Request, SampleType, Source, Status, Tensor, probe,
};
use fdconvert_gpu_emul::{FakeDriver, FakeMachine, decode};
use fdconvert_jpeg::{EntryPoints, parse};
use std::path::Path;

const TENSOR: Output = Output::Tensor(Tensor {
    width: 24,
    height: 20,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
});

/// Small enough that there are several chunks.
pub(crate) const LIMITS: Limits = Limits { chunk_blocks: 500, max_image_blocks: 1 << 20 };

/// Files with their entry points.
pub(crate) struct Set(Vec<(Vec<u8>, Vec<u8>)>);

impl Set {
    pub(crate) fn new(images: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let indexed = images.into_iter().map(|(_, bytes)| {
            let jpeg = parse(&bytes).unwrap();
            let entry_points = EntryPoints::build(&jpeg, &bytes, 1024).unwrap().to_bytes();
            (bytes, entry_points)
        });
        Self(indexed.collect())
    }

    pub(crate) fn requests(&self) -> Vec<Request<'_>> {
        let crop = Crop { left: 0.1, top: 0.2, width: 0.8, height: 0.7 };
        let requests = self.0.iter().enumerate().map(|(number, (bytes, entry_points))| Request {
            reach: false,
            crop,
            flip: number % 2 == 0,
            ..Request::whole(bytes, Some(entry_points))
        });
        requests.collect()
    }
}

pub(crate) fn open() -> Result<Gpu, GpuError> {
    Gpu::open(&Driver::load(Some(FakeDriver::path()))?, 0)
}

/// Compares a batch with the result of the kernels alone.
#[track_caller]
pub(crate) fn check(batch: &Batch, requests: &[Request<'_>], output: Output) -> u64 {
    let plan = Plan::new(requests, output, LIMITS);
    let expected = decode(&plan, requests);
    assert_eq!(batch.statuses(), plan.statuses(&expected.states));
    assert!(batch.download().unwrap().unwrap() == expected.output);
    batch.n_bytes()
}

#[test]
fn batches_are_exact() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().chain(photographs(1).into_iter().take(5)));
    let all = set.requests();
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        let mut compared = 0;
        for output in [Output::Native, TENSOR] {
            for requests in [&all[..], &all[..40], &all[100..101], &all[..0], &all[50..180]] {
                let batch = decoder.decode(requests, output).unwrap();
                compared += check(&batch, requests, output);
            }
        }
        // Several in flight at the same time, waited for in another order.
        let first = decoder.submit(&all[..30], TENSOR).unwrap();
        let second = decoder.submit(&all[30..90], TENSOR).unwrap();
        let dropped = decoder.submit(&all[..200], Output::Native).unwrap();
        let third = decoder.submit(&all[90..], TENSOR).unwrap();
        drop(dropped);
        let third = third.wait().unwrap();
        let (first, second) = (first.wait().unwrap(), second.wait().unwrap());
        compared += check(&third, &all[90..], TENSOR);
        compared += check(&first, &all[..30], TENSOR);
        compared += check(&second, &all[30..90], TENSOR);
        println!("{} images in batches, {compared} bytes compared", all.len());
    }
    let counters = fake.counters();
    assert!(counters.is_clean(), "{counters:?}");
    assert!(counters.launches > 0);
}

#[test]
fn bad_images_do_not_fail_their_batch() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(6));
    let requests = set.requests();
    let damaged: Vec<u8> = {
        let mut bytes = set.0[1].0.clone();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 40].fill(0x5A);
        bytes
    };
    let mut bad = requests.clone();
    let entry_points = |number: usize| Some(set.0[number].1.as_slice());
    bad[1].image = Source::Bytes { bytes: &damaged, entry_points: entry_points(1) };
    bad[2].image = Source::Bytes { bytes: &set.0[2].0, entry_points: None };
    bad[3].image = Source::Bytes { bytes: b"no JPEG", entry_points: entry_points(3) };
    bad[4].image = Source::Bytes { bytes: &set.0[4].0, entry_points: entry_points(5) };
    bad[5].crop.width = f32::NAN;
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        let batch = decoder.decode(&bad, TENSOR).unwrap();
        check(&batch, &bad, TENSOR);
        let statuses = batch.statuses();
        assert_eq!(statuses[0], Status::Decoded);
        assert!(matches!(statuses[1], Status::Damaged(_)), "{statuses:?}");
        assert_eq!(statuses[2], Status::Fallback(Fallback::NoEntryPoints));
        assert!(matches!(statuses[3], Status::Fallback(Fallback::Jpeg(_))));
        assert!(matches!(
            statuses[4],
            Status::Damaged(_) | Status::Fallback(Fallback::EntryPoints(_))
        ));
        assert_eq!(statuses[5], Status::Fallback(Fallback::Crop));

        let good = decoder.decode(&requests, TENSOR).unwrap().download().unwrap().unwrap();
        let found = batch.download().unwrap().unwrap();
        let part = |number| {
            let place = batch.place(number).unwrap().bytes;
            place.start as usize..place.end as usize
        };
        assert!(found[part(0)] == good[part(0)]);
        // Normalised zeros for damaged images, plain ones for images that were not tried.
        assert!(
            found[part(1)]
                .chunks(2 * 24 * 20)
                .all(|plane| plane.chunks(2).all(|it| it == &plane[..2]))
        );
        assert!((2..4).all(|number| found[part(number)].iter().all(|byte| *byte == 0)));
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// Opens, decodes two batches, copies one back.
fn everything(requests: &[Request<'_>]) -> Result<Vec<u8>, GpuError> {
    let gpu = open()?;
    let mut decoder = Decoder::new(&gpu, LIMITS)?;
    let pending = decoder.submit(&requests[..2], TENSOR)?;
    let larger = decoder.submit(requests, TENSOR)?;
    pending.wait()?;
    Ok(larger.wait()?.download()?.unwrap_or_default())
}

#[test]
fn every_call_may_fail() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().skip(20).take(8));
    let requests = set.requests();
    let expected = everything(&requests).unwrap();
    let n_calls = fake.counters().calls;
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
    let (mut n_errors, mut n_survived) = (0, 0);
    for call in 1..=n_calls {
        for (code, is_expected) in [
            (2, (|it| matches!(it, GpuError::OutOfMemory { .. })) as fn(&GpuError) -> bool),
            (
                719,
                |it| matches!(it, GpuError::Driver { code: 719, name, .. } if name.ends_with("LAUNCH_FAILED")),
            ),
            (100, |it| matches!(it, GpuError::NoDevice)),
        ] {
            fake.reset();
            fake.fail(call, code);
            match everything(&requests) {
                Err(error) => {
                    assert!(is_expected(&error), "call {call}, {code}: {error:?}");
                    n_errors += 1;
                }
                // Entering the context to release a resource failed: it was released anyway.
                Ok(output) => {
                    assert!(output == expected, "call {call}, {code}");
                    n_survived += 1;
                }
            }
            let counters = fake.counters();
            assert!(counters.is_clean(), "call {call}, {code}: {counters:?}");
        }
    }
    println!("{n_calls} calls: {n_errors} typed errors, {n_survived} without effect, no leak");
    fake.reset();
    assert!(everything(&requests).unwrap() == expected);
}

/// Garbage in all memory changes nothing, and every kernel is timed; failures of the additional
/// calls are errors like all others.
#[test]
fn diagnostics_measure_and_change_nothing() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().skip(20).take(8));
    let requests = set.requests();
    let diagnosed = |is_diagnosed: bool| -> Result<Batch, GpuError> {
        let mut decoder = Decoder::new(&open()?, LIMITS)?;
        let (timings, garbage) = (is_diagnosed, is_diagnosed);
        decoder.diagnose(Diagnostics { timings, garbage });
        decoder.decode(&requests, TENSOR)
    };
    {
        assert_eq!(diagnosed(false).unwrap().timings(), None);
        fake.reset();
        let batch = diagnosed(true).unwrap();
        let n_calls = fake.counters().calls;
        check(&batch, &requests, TENSOR);
        let timings = *batch.timings().unwrap();
        let timed = Kernel::ALL.iter().zip(timings.kernels_ms);
        let is_used = |kernel| !matches!(kernel, Kernel::Expand | Kernel::Change | Kernel::Write);
        assert!(timed.into_iter().all(|(it, ms)| is_used(*it) == (ms > 0.0)), "{timings:?}");
        assert!(timings.upload_ms > 0.0 && timings.clear_ms > 0.0, "{timings:?}");
        drop(batch);
        for call in 1..=n_calls {
            fake.reset();
            fake.fail(call, 719);
            let done = diagnosed(true).map(|batch| batch.n_bytes());
            assert!(done.is_ok() || matches!(done, Err(GpuError::Driver { code: 719, .. })));
            assert!(fake.counters().is_clean(), "call {call}: {:?}", fake.counters());
        }
    }
    fake.reset();
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn a_failed_batch_leaves_the_decoder_usable() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().skip(20).take(8));
    let requests = set.requests();
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        let before = fake.counters().calls;
        check(&decoder.decode(&requests, TENSOR).unwrap(), &requests, TENSOR);
        let n_calls = fake.counters().calls - before;
        for call in 1..n_calls {
            fake.reset();
            fake.fail(call, 719);
            let _ = decoder.decode(&requests, TENSOR);
            fake.reset();
            check(&decoder.decode(&requests, TENSOR).unwrap(), &requests, TENSOR);
        }
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn too_little_memory_is_an_error_of_its_own() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(3));
    fake.pretend(FakeMachine { memory_bytes: 1 << 20, ..FakeMachine::DEFAULT });
    let error = everything(&set.requests()).unwrap_err();
    assert!(matches!(error, GpuError::OutOfMemory { n_bytes: 1.., .. }), "{error:?}");
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn output_of_the_callers_must_have_its_size() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(small().into_iter().take(3));
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        // SAFETY: refused before the address is used.
        #[allow(unsafe_code, reason = "an address cannot be passed safely")]
        let refused = unsafe { decoder.submit_into(&set.requests(), TENSOR, 0, 7) };
        let expected = 3 * 24 * 20 * 3 * 2;
        assert_eq!(refused.err(), Some(GpuError::OutputSize { expected, found: 7 }));
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn machines_that_cannot_are_told_from_each_other() {
    let fake = FakeDriver::take().unwrap();
    let open_on = |machine| {
        fake.pretend(machine);
        open().err()
    };
    let machine = FakeMachine::DEFAULT;
    assert_eq!(open_on(FakeMachine { n_devices: 0, ..machine }), Some(GpuError::NoDevice));
    let old = open_on(FakeMachine { version: 12_020, ..machine });
    assert!(matches!(old, Some(GpuError::TooOld { found, .. }) if found == "CUDA 12.2"));
    let old = open_on(FakeMachine { capability: (7, 0), ..machine });
    assert!(matches!(old, Some(GpuError::OldDevice { major: 7, minor: 0, .. })));
    fake.pretend(machine);
    let driver = Driver::load(Some(FakeDriver::path())).unwrap();
    let other = Gpu::open(&driver, 3).err();
    assert_eq!(other, Some(GpuError::NoSuchDevice { ordinal: 3, n_devices: 1 }));
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn without_a_driver_there_is_an_error() {
    let missing = Path::new("no/such/libcuda.so.1");
    let error = Driver::load(Some(missing)).err().unwrap();
    assert!(matches!(&error, GpuError::NoDriver { tried } if tried.len() == 1), "{error:?}");
    let found = probe(Some(missing));
    assert!(matches!(found.driver, Err(GpuError::NoDriver { .. })));
    assert_eq!(found.backends, [Backend::Cpu]);
    // The machine may have one or not: either way the probe succeeds.
    println!("this machine: {:?}", probe(None));
}

#[test]
fn the_probe_tells_what_there_is() {
    let fake = FakeDriver::take().unwrap();
    let probe = |driver| Probe::new(Some(driver), Some(Path::new("no/such/library.so")));
    let found = probe(FakeDriver::path());
    assert_eq!(found.driver, Ok(12_040));
    assert_eq!(found.backends, [Backend::EntryPoints, Backend::Cpu]);
    let device = &found.devices[0];
    assert_eq!((device.name.as_str(), device.compute_capability), ("Made of tests", (9, 0)));
    fake.pretend(FakeMachine { n_devices: 0, ..FakeMachine::DEFAULT });
    let found = probe(FakeDriver::path());
    assert_eq!((found.driver, found.backends), (Err(GpuError::NoDevice), vec![Backend::Cpu]));
}

#[test]
fn outputs_of_no_size_are_left_to_the_caller() {
    let set = Set::new(small().into_iter().take(1));
    for (width, height) in [(0, 5), (5, 0), (65_536, 1)] {
        let Output::Tensor(tensor) = TENSOR else { return };
        let output = Output::Tensor(Tensor { width, height, ..tensor });
        let plan = Plan::new(&set.requests(), output, LIMITS);
        let size = Fallback::OutputSize { width, height };
        assert_eq!(plan.statuses(&[]), [Status::Fallback(size)]);
    }
}

#[test]
fn threads_may_hand_over_what_decodes() {
    fn check<T: Send>() {}
    check::<Gpu>();
    check::<Decoder>();
    check::<Pending>();
    check::<Batch>();
}

#[test]
fn other_libraries_are_refused() {
    let error = Driver::load(Some(Path::new("libm.so.6"))).err().unwrap();
    assert!(matches!(error, GpuError::TooOld { .. } | GpuError::NoDriver { .. }), "{error:?}");
}

/// Another library reads the batch on its own stream, perhaps after the batch was dropped.
#[test]
#[allow(unsafe_code, reason = "streams are handles")]
fn memory_is_not_used_again_before_its_readers_are_done() {
    const THEIR_STREAM: usize = 2;
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(8));
    let all = set.requests();
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        for is_said in [true, false] {
            let mut first = decoder.decode(&all[..4], TENSOR).unwrap();
            let (address, expected) = (first.address(), first.download().unwrap().unwrap());
            let found = fake.read_later(THEIR_STREAM as u64, address, expected.len()).unwrap();
            if is_said {
                // SAFETY: 2 is the handle of a default stream.
                unsafe { first.used_on(THEIR_STREAM) }.unwrap();
            }
            drop(first);
            let second = decoder.decode(&all[4..], TENSOR).unwrap();
            assert_eq!(second.address(), address, "the memory is used again");
            assert_ne!(second.download().unwrap().unwrap(), expected);
            // Without the declaration the reader does not come first: it has not even begun.
            let found = found.lock().unwrap();
            assert_eq!(*found == expected, is_said);
            assert_eq!(found.is_empty(), !is_said);
        }
    }
    fake.reset();
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// Images made elsewhere fill the gaps that the kernels have left.
#[test]
fn rows_can_be_written() {
    let fake = FakeDriver::take().unwrap();
    let set = Set::new(photographs(1).into_iter().take(3));
    let mut requests = set.requests();
    requests[1] = Request::whole(b"", None);
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        let batch = decoder.decode(&requests, TENSOR).unwrap();
        let mut expected = batch.download().unwrap().unwrap();
        let place = batch.place(1).unwrap().bytes;
        let n_bytes = (place.end - place.start) as usize;
        assert!(expected[place.start as usize..place.end as usize].iter().all(|it| *it == 0));
        let row: Vec<u8> = (0..n_bytes).map(|at| at as u8).collect();
        let (start, end) = (place.start, batch.n_bytes() - 3);
        assert!(batch.write(&[(start, &row), (end, &[1, 2, 3])]).unwrap());
        expected[start as usize..][..n_bytes].copy_from_slice(&row);
        expected[end as usize..].copy_from_slice(&[1, 2, 3]);
        assert!(batch.download().unwrap().unwrap() == expected);
        let outside = batch.write(&[(start, &row), (end + 1, &[1, 2, 3])]);
        assert!(matches!(outside, Err(GpuError::OutputSize { .. })), "{outside:?}");
        assert!(batch.write(&[(u64::MAX, &[1])]).is_err());
        assert!(batch.download().unwrap().unwrap() == expected, "nothing was written");
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}
