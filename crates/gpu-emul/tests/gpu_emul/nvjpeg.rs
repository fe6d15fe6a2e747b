//! nvJPEG together with the kernels, with fakes of it and of the driver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    unsafe_code,
    reason = "a test fails by panicking, and says what it has compared; the stand-in calls back"
)]

use crate::common::{by_libjpeg, photographs, small};
use fdconvert_codec::Decoder as Codec;
use fdconvert_core::{Encoded, Limits as CodecLimits};
use fdconvert_gpu::{
    Backend, Batch, Crop, Decoder, Driver, Engine, Fallback, Gpu, GpuError, LibraryShare,
    LibraryUse, Limits, NvJpeg, Order, Output, Probe, Request, SampleType, Source, Status, Tensor,
    engines,
};
use fdconvert_gpu_emul::{FakeDriver, FakeNvJpeg};
use fdconvert_jpeg::{EntryPoints, parse};
use fdconvert_testkit::fixtures::pixels;
use jpeg_encoder::{ColorType, SamplingFactor};
use std::{path::Path, process::Command};

const TENSOR: Tensor = Tensor {
    width: 24,
    height: 20,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
};

/// Small enough for several chunks, of the kernels and of nvJPEG.
const LIMITS: Limits = Limits { chunk_blocks: 500, max_image_blocks: 1 << 20 };

/// An image in two files with the same coefficients: one for the kernels, and one that they refuse.
struct Twins {
    indexed: Vec<u8>,
    entry_points: Vec<u8>,
    left: Vec<u8>,
}

impl Twins {
    fn new(indexed: Vec<u8>, left: Vec<u8>) -> Self {
        let jpeg = parse(&indexed).unwrap();
        let entry_points = EntryPoints::build(&jpeg, &indexed, 1024).unwrap().to_bytes();
        Self { indexed, entry_points, left }
    }
}

/// Returns baseline images, and progressive ones.
fn twins() -> Vec<Twins> {
    let mut twins: Vec<_> = small()
        .into_iter()
        .chain(photographs(1).into_iter().take(2))
        .filter(|(name, _)| !name.contains("F_") && !name.contains("stored"))
        .map(|(_, bytes)| Twins::new(bytes.clone(), bytes))
        .collect();
    for (seed, (width, height)) in (0..).zip([(5, 4), (100, 75), (129, 64), (200, 301)]) {
        let image = pixels(width, height, 3, seed);
        let encode = |is_progressive| {
            let mut bytes = Vec::new();
            let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 85);
            encoder.set_sampling_factor(SamplingFactor::F_2_2);
            encoder.set_progressive(is_progressive);
            let (width, height) = (width as u16, height as u16);
            encoder.encode(&image.data, width, height, ColorType::Rgb).unwrap();
            bytes
        };
        twins.push(Twins::new(encode(false), encode(true)));
    }
    twins
}

/// Requests every image for the kernels, or every third without entry points.
fn requests(twins: &[Twins], is_mixed: bool) -> Vec<Request<'_>> {
    let requests = twins.iter().enumerate().map(|(number, twins)| {
        let crop = match number % 4 {
            0 => Crop::WHOLE,
            1 => Crop { left: 0.0, top: 0.3, width: 1.0, height: 0.5 },
            _ => Crop { left: 0.1, top: 0.2, width: 0.8, height: 0.7 },
        };
        let flip = number % 2 == 0;
        if is_mixed && number % 3 != 0 {
            Request { crop, flip, ..Request::whole(&twins.left, None) }
        } else {
            Request { crop, flip, ..Request::whole(&twins.indexed, Some(&twins.entry_points)) }
        }
    });
    requests.collect()
}

/// Returns libjpeg-turbo's pixels of an image, always with three channels.
fn rgb(bytes: &[u8], width: u32, height: u32) -> Option<Vec<u8>> {
    let (codec, bytes) = (fdconvert_core::Codec::Jpeg, bytes.to_vec().into());
    let encoded = Encoded::new(codec, width, height, bytes);
    let pixels = Codec::new().decode("", &encoded, &CodecLimits::DEFAULT).ok()?.pixels;
    let is_gray = pixels.channels == 1;
    let three = |sample: &u8| [*sample; 3];
    Some(if is_gray { pixels.data.iter().flat_map(three).collect() } else { pixels.data })
}

/// Makes libjpeg-turbo's pixels for the fake.
unsafe extern "C" fn turbo(
    bytes: *const u8,
    n_bytes: usize,
    width: u32,
    height: u32,
    to: *mut u8,
) -> i32 {
    // SAFETY: as agreed with `fake_nvjpeg.cpp`.
    let (bytes, to) = unsafe {
        let n_pixels = width as usize * height as usize;
        (
            std::slice::from_raw_parts(bytes, n_bytes),
            std::slice::from_raw_parts_mut(to, 3 * n_pixels),
        )
    };
    match rgb(bytes, width, height) {
        Some(pixels) if pixels.len() == to.len() => {
            to.copy_from_slice(&pixels);
            0
        }
        _ => 1,
    }
}

fn fakes(driver: &FakeDriver) -> FakeNvJpeg<'_> {
    let fake = FakeNvJpeg::new(driver).unwrap();
    fake.set_decoder(turbo);
    fake
}

fn decoder(how: LibraryUse) -> Result<Decoder, GpuError> {
    let gpu = Gpu::open(&Driver::load(Some(FakeDriver::path()))?, 0)?;
    let mut decoder = Decoder::new(&gpu, LIMITS)?;
    decoder.use_library(&NvJpeg::load(Some(FakeNvJpeg::path()))?, how)?;
    Ok(decoder)
}

#[track_caller]
fn assert_clean(driver: &FakeDriver, library: &FakeNvJpeg<'_>, when: &str) {
    assert!(driver.counters().is_clean(), "{when}: {:?}", driver.counters());
    assert!(library.counters().is_clean(), "{when}: {:?}", library.counters());
}

fn downloaded(batch: &Batch) -> Vec<Vec<u8>> {
    let output = batch.download().unwrap().unwrap();
    let part = |number| {
        let place = batch.place(number)?.bytes;
        Some(output[place.start as usize..place.end as usize].to_vec())
    };
    (0..batch.statuses().len()).map(|number| part(number).unwrap_or_default()).collect()
}

/// Images of the kernels are as without nvJPEG, all others are nvJPEG's.
#[test]
fn native_output_holds_both() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let requests = requests(&twins, true);
    {
        let mut decoder = decoder(LibraryUse::default()).unwrap();
        let batch = decoder.decode(&requests, Output::Native).unwrap();
        let mut end = 0;
        for (number, found) in downloaded(&batch).into_iter().enumerate() {
            let place = batch.place(number).unwrap();
            end = end.max(place.bytes.end);
            let expected =
                by_libjpeg(requests[number].image.bytes().unwrap(), place.width, place.height)
                    .unwrap();
            if number % 3 == 0 {
                assert_eq!(batch.statuses()[number], Status::Decoded, "{number}");
                assert!(found == expected.data, "{number}");
            } else {
                assert_eq!(batch.statuses()[number], Status::Library, "{number}");
                let expected =
                    rgb(requests[number].image.bytes().unwrap(), place.width, place.height)
                        .unwrap();
                assert_eq!(place.channels, 3);
                assert!(found == expected, "{number}");
            }
        }
        assert_eq!(end, batch.n_bytes());
        let counters = library.counters();
        // Progressive images are not decoded in batches.
        assert!(counters.together > 20 && counters.alone > 0, "{counters:?}");
        println!("{} images, {counters:?}", requests.len());
        drop(batch);
        decoder.without_library();
        let batch = decoder.decode(&requests, Output::Native).unwrap();
        assert_eq!(batch.statuses()[1], Status::Fallback(Fallback::NoEntryPoints));
    }
    assert_clean(&driver, &library, "after all");
}

/// The same pixels from nvJPEG and from the kernels become the same tensor, bit for bit.
#[test]
fn tensors_are_the_same_by_either_way() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let (by_kernels, mixed) = (requests(&twins, false), requests(&twins, true));
    for (sample_type, order) in [
        (SampleType::F16, Order::Nchw),
        (SampleType::U8, Order::Nhwc),
        (SampleType::F32, Order::Nchw),
        (SampleType::Bf16, Order::Nhwc),
    ] {
        let output = Output::Tensor(Tensor { sample_type, order, ..TENSOR });
        for share in [LibraryShare::Rest, LibraryShare::All] {
            let mut decoder = decoder(LibraryUse { share, ..LibraryUse::default() }).unwrap();
            // Two in flight at the same time.
            let first = decoder.submit(&mixed, output).unwrap();
            let second = decoder.submit(&mixed[5..], output).unwrap();
            let (second, first) = (second.wait().unwrap(), first.wait().unwrap());
            decoder.without_library();
            let expected = decoder.decode(&by_kernels, output).unwrap();
            let expected = downloaded(&expected);
            for (batch, from) in [(first, 0), (second, 5)] {
                for (at, found) in downloaded(&batch).into_iter().enumerate() {
                    let number = from + at;
                    let is_library = share == LibraryShare::All || number % 3 != 0;
                    let status = if is_library { Status::Library } else { Status::Decoded };
                    assert_eq!(batch.statuses()[at], status, "{number}");
                    assert!(found == expected[number], "{number} {sample_type:?} {share:?}");
                }
            }
        }
    }
    assert_clean(&driver, &library, "after all");
}

/// A file that is broken after its headers, one that is not a JPEG, and kinds that must not be
/// passed to nvJPEG.
#[test]
fn a_bad_image_does_not_fail_its_batch() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    // Large enough for some content.
    let n_twins = twins.len();
    let mut requests = requests(&twins[n_twins - 14..n_twins - 6], true);
    let frame_at = |bytes: &[u8]| bytes.windows(2).position(|it| it == [0xFF, 0xC0]).unwrap();
    let broken = {
        let bytes = requests[1].image.bytes().unwrap();
        bytes[..frame_at(bytes) + 19].to_vec()
    };
    let lossless = {
        let mut bytes = requests[4].image.bytes().unwrap().to_vec();
        let at = frame_at(&bytes) + 1;
        bytes[at] = 0xC3;
        bytes
    };
    requests[1].image = Source::Bytes { bytes: &broken, entry_points: None };
    requests[2].image = Source::Bytes { bytes: b"no JPEG", entry_points: None };
    requests[4].image = Source::Bytes { bytes: &lossless, entry_points: None };
    requests[5].crop.width = f32::NAN;
    for output in [Output::Native, Output::Tensor(TENSOR)] {
        for (share, engine) in [
            (LibraryShare::Rest, Engine::Auto),
            (LibraryShare::All, Engine::Hybrid),
            (LibraryShare::All, Engine::Hardware),
        ] {
            let mut decoder = decoder(LibraryUse { share, engine, smooth_chroma: true }).unwrap();
            let batch = decoder.decode(&requests, output).unwrap();
            let statuses = batch.statuses();
            let bad = Fallback::Library { code: 3, name: "NVJPEG_STATUS_BAD_JPEG" };
            assert_eq!(statuses[1], Status::Fallback(bad), "{statuses:?}");
            let is_all = share == LibraryShare::All;
            let refused = if is_all { Fallback::NotForLibrary } else { Fallback::NoEntryPoints };
            assert_eq!(statuses[2], Status::Fallback(refused.clone()));
            assert_eq!(statuses[4], Status::Fallback(refused));
            for number in [0, 3, 6, 7] {
                let by_kernels = !is_all && number % 3 == 0;
                let status = if by_kernels { Status::Decoded } else { Status::Library };
                assert_eq!(statuses[number], status);
            }
            let found = downloaded(&batch);
            // Zeros for images that were tried, and everywhere in a tensor.
            assert!(found[1].len() > 10 && found[1].iter().all(|byte| *byte == 0));
            assert!(found[2].iter().all(|byte| *byte == 0));
            match output {
                Output::Native => assert_eq!(statuses[5], Status::Library),
                Output::Tensor(_) if is_all => {
                    assert_eq!(statuses[5], Status::Fallback(Fallback::Crop));
                }
                Output::Tensor(_) | Output::Changed(_) => {
                    assert_eq!(statuses[5], Status::Fallback(Fallback::NoEntryPoints));
                }
            }
            if output == Output::Native {
                let place = batch.place(7).unwrap();
                let expected =
                    rgb(requests[7].image.bytes().unwrap(), place.width, place.height).unwrap();
                assert!(found[7] == expected);
            }
        }
    }
    assert_clean(&driver, &library, "after all");
}

/// Opens, decodes two batches, copies both back.
fn everything(requests: &[Request<'_>]) -> Result<(Vec<Status>, Vec<u8>), GpuError> {
    let mut decoder = decoder(LibraryUse::default())?;
    let native = decoder.submit(&requests[..4], Output::Native)?;
    let tensor = decoder.submit(requests, Output::Tensor(TENSOR))?;
    let (native, tensor) = (native.wait()?, tensor.wait()?);
    let mut output = native.download()?.unwrap_or_default();
    output.extend(tensor.download()?.unwrap_or_default());
    Ok(([native.statuses(), tensor.statuses()].concat(), output))
}

#[test]
fn every_call_of_the_driver_may_fail() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let requests = requests(&twins[twins.len() - 9..], true);
    let expected = everything(&requests).unwrap();
    let n_calls = driver.counters().calls;
    for call in 1..=n_calls {
        driver.reset();
        driver.fail(call, 719);
        match everything(&requests) {
            Err(error) => {
                let is_typed = matches!(error, GpuError::Driver { code: 719, .. });
                assert!(is_typed, "call {call}: {error:?}");
            }
            // Entering the context to release a resource failed: it was released anyway.
            Ok(found) => assert!(found == expected, "call {call}"),
        }
        assert_clean(&driver, &library, &format!("call {call}"));
    }
    println!("{n_calls} calls");
}

/// nvJPEG's failures are errors when it starts; later they only cost time, or one image its pixels.
#[test]
fn every_call_of_the_library_may_fail() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let requests = requests(&twins[twins.len() - 9..], true);
    let expected = everything(&requests).unwrap();
    let n_calls = library.counters().calls;
    let (mut n_errors, mut n_lost, mut n_survived) = (0, 0, 0);
    for call in 1..=n_calls {
        for code in [3, 5, 6] {
            library.reset().unwrap();
            library.set_decoder(turbo);
            library.fail(call, code);
            match everything(&requests) {
                Err(GpuError::NoLibrary { tried }) => {
                    assert!(tried[0].contains("nvjpegGetProperty failed: "), "{tried:?}");
                    n_errors += 1;
                }
                Err(error) => {
                    let is_typed =
                        matches!(error, GpuError::Library { code: it, .. } if it == code);
                    assert!(is_typed, "call {call}, {code}: {error:?}");
                    n_errors += 1;
                }
                Ok((statuses, _)) => {
                    let both = statuses.iter().zip(&expected.0);
                    let others: Vec<_> =
                        both.filter(|(found, expected)| found != expected).collect();
                    assert!(others.len() <= 1, "call {call}: {others:?}");
                    let is_lost = |found: &Status| {
                        let Status::Fallback(Fallback::Library { code: it, .. }) = found else {
                            return false;
                        };
                        *it == code
                    };
                    assert!(others.iter().all(|(found, _)| is_lost(found)), "{call}: {others:?}");
                    if others.is_empty() { n_survived += 1 } else { n_lost += 1 }
                }
            }
            assert_clean(&driver, &library, &format!("call {call}, {code}"));
        }
    }
    println!("{n_calls} calls: {n_errors} errors, {n_lost} images lost, {n_survived} made up for");
    assert!(n_errors > 0 && n_lost > 0 && n_survived > 0);
    library.reset().unwrap();
    library.set_decoder(turbo);
    assert!(everything(&requests).unwrap() == expected);
}

#[test]
fn a_failed_batch_leaves_the_decoder_usable() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let requests = requests(&twins[twins.len() - 9..], true);
    let output = Output::Tensor(TENSOR);
    {
        let mut decoder = decoder(LibraryUse::default()).unwrap();
        let before = (driver.counters().calls, library.counters().calls);
        let expected = downloaded(&decoder.decode(&requests, output).unwrap());
        let n_calls = driver.counters().calls - before.0;
        let n_library_calls = library.counters().calls - before.1;
        for (number, is_driver) in
            (1..=n_calls).map(|it| (it, true)).chain((1..=n_library_calls).map(|it| (it, false)))
        {
            driver.reset();
            library.reset().unwrap();
            library.set_decoder(turbo);
            if is_driver {
                driver.fail(number, 719);
            } else {
                library.fail(number, 6);
            }
            let _ = decoder.decode(&requests, output);
            driver.reset();
            library.reset().unwrap();
            library.set_decoder(turbo);
            let found = downloaded(&decoder.decode(&requests, output).unwrap());
            assert!(found == expected, "call {number}, of the driver: {is_driver}");
        }
    }
    assert_clean(&driver, &library, "after all");
}

#[test]
fn engines_are_what_the_gpu_has() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let twins = twins();
    let left = Request::whole(&twins[20].left, None);
    let progressive = Request::whole(&twins[twins.len() - 1].left, None);
    for engine in Engine::ALL {
        let how = LibraryUse { engine, smooth_chroma: false, ..LibraryUse::default() };
        let mut decoder = decoder(how).unwrap();
        assert_eq!(decoder.hardware_decoders(), Some((7, 5)));
        let batch = decoder.decode(&[left, progressive], Output::Native).unwrap();
        assert_eq!(batch.statuses()[0], Status::Library);
        let refused =
            Fallback::Library { code: 9, name: "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED" };
        let is_hardware = engine == Engine::Hardware;
        let status = if is_hardware { Status::Fallback(refused) } else { Status::Library };
        assert_eq!(batch.statuses()[1], status, "{engine:?}");
    }
    library.engines(0b0111);
    let how = LibraryUse { engine: Engine::Hardware, ..LibraryUse::default() };
    let (function, name) = ("nvjpegCreateEx", "NVJPEG_STATUS_ARCH_MISMATCH");
    assert_eq!(decoder(how).err(), Some(GpuError::Library { function, code: 7, name }));
    // The previous one stays in use.
    let mut decoder = decoder(LibraryUse::default()).unwrap();
    let loaded = NvJpeg::load(Some(FakeNvJpeg::path())).unwrap();
    assert!(decoder.use_library(&loaded, how).is_err());
    let batch = decoder.decode(&[left], Output::Native).unwrap();
    assert_eq!(batch.statuses(), [Status::Library]);
    drop((batch, decoder));
    assert_clean(&driver, &library, "after all");
}

#[test]
fn without_the_library_there_is_an_error() {
    let missing = Path::new("no/such/libnvjpeg.so.12");
    let error = NvJpeg::load(Some(missing)).err().unwrap();
    let GpuError::NoLibrary { tried } = &error else { panic!("{error:?}") };
    assert!(tried.len() == 1 && tried[0].starts_with("no/such/libnvjpeg.so.12: "), "{tried:?}");
    let other = NvJpeg::load(Some(FakeDriver::path())).err().unwrap();
    assert!(
        matches!(&other, GpuError::NoLibrary { tried } if tried[0].contains("it has no nvjpeg"))
    );
    match NvJpeg::load(None) {
        Ok(library) => println!("this machine has {:?}", library.version()),
        Err(error) => {
            let GpuError::NoLibrary { tried } = &error else { panic!("{error:?}") };
            assert!(tried.iter().any(|it| it.starts_with("libnvjpeg.so.13: ")), "{tried:?}");
            println!("this machine: {error}");
        }
    }
}

/// NVIDIA's library, if this machine has one but no driver.
#[test]
fn without_a_gpu_the_real_library_is_an_error() {
    let (Ok(real), Err(_)) = (NvJpeg::load(None), Driver::load(None)) else {
        println!("skipped: there is no nvJPEG, or there is a driver");
        return;
    };
    let driver = FakeDriver::take().unwrap();
    {
        let gpu = Gpu::open(&Driver::load(Some(FakeDriver::path())).unwrap(), 0).unwrap();
        let mut decoder = Decoder::new(&gpu, LIMITS).unwrap();
        for engine in Engine::ALL {
            let how = LibraryUse { engine, ..LibraryUse::default() };
            let error = decoder.use_library(&real, how).err().unwrap();
            println!("nvJPEG {:?}, {}: {error}", real.version(), engine.name());
            assert!(matches!(error, GpuError::Library { function: "nvjpegCreateEx", .. }));
        }
    }
    assert!(driver.counters().is_clean(), "{:?}", driver.counters());
}

#[test]
fn the_probe_tells_of_the_library() {
    let driver = FakeDriver::take().unwrap();
    let _library = fakes(&driver);
    let found = Probe::new(Some(FakeDriver::path()), Some(FakeNvJpeg::path()));
    assert_eq!(found.library, Ok((12, 4, 0)));
    assert_eq!(found.backends, [Backend::EntryPoints, Backend::NvJpeg, Backend::Cpu]);
    let missing = Some(Path::new("no/such/library.so"));
    let found = Probe::new(Some(FakeDriver::path()), missing);
    assert!(matches!(found.library, Err(GpuError::NoLibrary { .. })));
    assert_eq!(found.backends, [Backend::EntryPoints, Backend::Cpu]);
    // Without a driver it is useless.
    let found = Probe::new(missing, Some(FakeNvJpeg::path()));
    assert_eq!((found.library, found.backends), (Ok((12, 4, 0)), vec![Backend::Cpu]));
}

/// Runs in a separate process, with both libraries named in the environment.
#[test]
fn the_environment_names_libraries() {
    let run = |driver: &Path, library: &Path| {
        let mut this = Command::new(std::env::current_exe().unwrap());
        this.args(["--exact", "nvjpeg::libraries_of_the_environment", "--ignored", "--nocapture"]);
        this.env("FDCONVERT_CUDA_LIB", driver).env("FDCONVERT_NVJPEG_LIB", library);
        let output = this.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let found = run(FakeDriver::path(), FakeNvJpeg::path());
    assert!(found.contains("Ok(12040) Ok((12, 4, 0))"), "{found}");
    let found = run(Path::new("no/driver.so"), Path::new("no/library.so"));
    for name in ["no/driver.so", "no/library.so"] {
        assert!(found.contains(&format!("{{ tried: [\"{name}: ")), "{found}");
    }
}

#[test]
#[ignore = "part of `the_environment_names_libraries`"]
fn libraries_of_the_environment() {
    let found = fdconvert_gpu::probe(None);
    println!("{:?} {:?}", found.driver, found.library);
}

#[test]
fn engines_are_tried_one_by_one() {
    let driver = FakeDriver::take().unwrap();
    let library = fakes(&driver);
    let (to_driver, to_library) = (Some(FakeDriver::path()), Some(FakeNvJpeg::path()));
    let found = engines(to_driver, to_library, 0).unwrap();
    assert!(found.iter().map(|it| it.engine).eq(Engine::ALL));
    assert!(found.iter().all(|it| it.started.is_ok()), "{found:?}");
    assert_clean(&driver, &library, "after engines were tried");
    let error = engines(to_driver, Some(Path::new("/none")), 0).unwrap_err();
    assert!(matches!(error, GpuError::NoLibrary { .. }), "{error}");
    let error = engines(Some(Path::new("/none")), to_library, 0).unwrap_err();
    assert!(matches!(error, GpuError::NoDriver { .. }), "{error}");
}
