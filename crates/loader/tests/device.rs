//! Batches on an emulated GPU: order, failures and states equal those of the loader on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Memory, list, loader, options, random_crop};
use fdconvert_core::{Error, Value};
use fdconvert_gpu_emul::{FakeDriver, FakeMachine, FakeNvJpeg};
use fdconvert_loader::{
    Batch, Column, DType, Datasets, Decoded, DeviceDecoder, DeviceOptions, Failures, Label, Last,
    Layout, Loader, MaskOptions, Memory as Where, ObjectOptions, OnError, Options, Sampling,
    Transform, TransformList, ViewGroup, World, research::LIQUID,
};
use std::sync::Arc;

fn device() -> DeviceOptions {
    DeviceOptions { driver: Some(FakeDriver::path().into()), ..DeviceOptions::default() }
}

fn on_device(reader: &Arc<Memory>, options: Options, device: DeviceOptions) -> Loader {
    loader(reader, options.device(Some(device)))
}

/// Copies the images of a batch from the GPU.
fn to_host(batch: &Batch) -> Result<Vec<u8>, Error> {
    match batch.memory() {
        Where::Device(images) => images.to_host(),
        Where::Host(_) => panic!("it is in the host's memory"),
    }
}

fn decoded(loader: &Loader) -> Decoded {
    loader.stats().decoded.unwrap()
}

/// Checks that rows are equal, with pixels within the difference of two resize methods.
fn assert_alike(cpu: &Batch, gpu: &Batch) {
    assert_eq!((cpu.epoch(), cpu.step(), cpu.state()), (gpu.epoch(), gpu.step(), gpu.state()));
    assert_eq!(cpu.shape(), gpu.shape());
    assert_eq!((cpu.samples(), cpu.labels()), (gpu.samples(), gpu.labels()));
    assert_eq!((cpu.valid(), cpu.substituted()), (gpu.valid(), gpu.substituted()));
    assert!(gpu.images().is_empty() && matches!(cpu.memory(), Where::Host(_)));
    let host = to_host(gpu).unwrap();
    assert_eq!(host.len(), cpu.images().len());
    let rows = host.chunks_exact(cpu.shape().row_bytes());
    for (row, (gpu, cpu)) in
        rows.zip(cpu.images().chunks_exact(cpu.shape().row_bytes())).enumerate()
    {
        let pairs = gpu.iter().zip(cpu);
        let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = sum as f64 / gpu.len() as f64;
        assert!(mean < 2.0, "row {row}: {mean} levels apart");
    }
}

#[test]
fn batches_are_those_of_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    for (options, last) in [
        (random_crop(), Last::Short),
        // Large enough that the CPU does not decode smaller images.
        (options(16, 16), Last::Pad),
        (random_crop().world(World { rank: 1, size: 2 }), Last::Drop),
    ] {
        let options = options.last(last).seed(3);
        let reader = Memory::new(50).with_entry_points();
        let mut cpu = loader(&reader, options.clone());
        let mut gpu = on_device(&reader, options, device());
        assert_eq!(cpu.len(), gpu.len());
        let mut n_rows = 0;
        for _ in 0..2 {
            while let Some(batch) = cpu.next_batch() {
                let batch = batch.unwrap();
                n_rows += batch.len() as u64;
                assert_alike(&batch, &gpu.next_batch().unwrap().unwrap());
            }
            assert!(gpu.next_batch().is_none());
            assert_eq!(cpu.state(), gpu.state());
        }
        let decoded = decoded(&gpu);
        assert_eq!(decoded.by_index + decoded.by_cpu, n_rows);
        // Two of three images are JPEGs.
        assert!(decoded.by_index > decoded.by_cpu, "{decoded:?}");
        assert_eq!(decoded.failed_on_gpu, 0);
    }
}

#[test]
fn columns_are_in_the_hosts_memory_and_follow_their_rows() {
    let _fake = FakeDriver::take().unwrap();
    let fields = vec!["label".to_owned()];
    for policy in [OnError::Substitute, OnError::Skip] {
        // Truncated images.
        let reader = Memory::new(50).with_entry_points().broken(&[3, 31]);
        let failures = Failures { on_error: policy, ..Failures::default() };
        let options = random_crop().fields(fields.clone()).failures(failures);
        let mut gpu =
            on_device(&reader, options, DeviceOptions { device_cache_bytes: 1 << 20, ..device() });
        let mut n_zero = 0;
        // From the second epoch on, images are in the cache of the GPU.
        for batch in (0..3).flat_map(|_| gpu.by_ref().collect::<Vec<_>>()).map(Result::unwrap) {
            let Some(Column::Int(column)) = batch.field("label") else { panic!() };
            assert_eq!(batch.labels(), Some(&column[..]));
            for ((sample, valid), label) in batch.samples().iter().zip(batch.valid()).zip(column) {
                let expected = if *valid { *sample as i64 % 7 } else { 0 };
                assert_eq!(*label, expected);
                n_zero += u64::from(!valid);
            }
        }
        let stats = gpu.stats();
        assert!(stats.reads < 100, "{stats:?}");
        assert_eq!(n_zero + stats.substituted, 6);
    }
}

#[test]
fn labels_of_other_kinds_follow_their_rows() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(50).with_entry_points().broken(&[3, 31]);
    let reader = reader.with_fields(&[("score", Value::Float(0.5))]);
    let options = random_crop()
        .label(Label::Field("score".into()))
        .failures(Failures { on_error: OnError::Skip, ..Failures::default() });
    let mut gpu =
        on_device(&reader, options, DeviceOptions { device_cache_bytes: 1 << 20, ..device() });
    let mut n_zero = 0;
    for batch in (0..2).flat_map(|_| gpu.by_ref().collect::<Vec<_>>()).map(Result::unwrap) {
        let Some(Column::Float(labels)) = batch.label_column() else { panic!() };
        let expected = batch.valid().iter().map(|valid| if *valid { 0.5 } else { 0.0 });
        assert!(labels.iter().copied().eq(expected));
        n_zero += batch.valid().iter().filter(|valid| !**valid).count();
    }
    assert_eq!(n_zero, 4);
}

#[test]
fn who_decodes_can_be_chosen() {
    let _fake = FakeDriver::take().unwrap();
    let share = |reader: &Arc<Memory>, decoder| {
        let mut gpu = on_device(reader, random_crop(), DeviceOptions { decoder, ..device() });
        while let Some(batch) = gpu.next_batch() {
            batch.unwrap();
        }
        (decoded(&gpu).by_index, decoded(&gpu).by_cpu)
    };
    let (with, without) = (Memory::new(30).with_entry_points(), Memory::new(30));
    assert_eq!(share(&with, DeviceDecoder::Index), (20, 10));
    assert_eq!(share(&with, DeviceDecoder::Auto), (20, 10));
    assert_eq!(share(&with, DeviceDecoder::Cpu), (0, 30));
    assert_eq!(share(&without, DeviceDecoder::Index), (0, 30));
}

#[test]
fn nvjpeg_takes_what_the_kernels_leave() {
    let fake = FakeDriver::take().unwrap();
    let library = FakeNvJpeg::new(&fake).unwrap();
    let device = || DeviceOptions { nvjpeg: Some(FakeNvJpeg::path().into()), ..device() };
    let (with, without) = (Memory::new(30).with_entry_points(), Memory::new(30));
    for (reader, decoder, device_cache_bytes, expected) in [
        (&with, DeviceDecoder::Auto, 0, (20, 0, 10)),
        (&with, DeviceDecoder::NvJpeg, 1 << 20, (0, 20, 10)),
        (&without, DeviceDecoder::Auto, 1 << 20, (0, 20, 10)),
        (&without, DeviceDecoder::Index, 0, (0, 0, 30)),
    ] {
        let options = DeviceOptions { decoder, device_cache_bytes, ..device() };
        let mut gpu = on_device(reader, random_crop(), options);
        on_all(&mut gpu);
        let decoded = decoded(&gpu);
        assert_eq!((decoded.by_index, decoded.by_nvjpeg, decoded.by_cpu), expected);
        assert_eq!(decoded.failed_on_gpu, 0);
    }
    drop(library);
    // If requested by name it must exist; otherwise the CPU takes over.
    let nowhere = |decoder| DeviceOptions { decoder, nvjpeg: Some("/none".into()), ..device() };
    let datasets = Datasets::one(without.clone()).unwrap();
    let options = |device| random_crop().device(Some(device));
    let refused = Loader::new(datasets, options(nowhere(DeviceDecoder::NvJpeg)));
    let said = refused.err().unwrap().chain();
    assert!(said.contains("cannot load nvJPEG for the GPU") && said.contains("/none"), "{said}");
    let mut gpu = on_device(&without, random_crop(), nowhere(DeviceDecoder::Auto));
    on_all(&mut gpu);
    assert_eq!(decoded(&gpu).by_cpu, 30);
}

#[test]
fn floats_are_normalised() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(20).with_entry_points();
    let options = options(8, 12).transform(list([
        Transform::resize(14),
        Transform::center_crop(12),
        Transform::normalize_imagenet(),
        Transform::ToLayout { layout: Layout::Nchw },
        Transform::to_dtype(DType::F32),
    ]));
    let (mut cpu, mut gpu) =
        (loader(&reader, options.clone()), on_device(&reader, options, device()));
    while let Some(batch) = cpu.next_batch() {
        let (cpu, gpu) = (batch.unwrap(), gpu.next_batch().unwrap().unwrap());
        let floats = |bytes: &[u8]| -> Vec<f32> {
            bytes.chunks_exact(4).map(|it| f32::from_ne_bytes(it.try_into().unwrap())).collect()
        };
        let (cpu, gpu) = (floats(cpu.images()), floats(&to_host(&gpu).unwrap()));
        let sum: f32 = cpu.iter().zip(&gpu).map(|(a, b)| (a - b).abs()).sum();
        // Two levels of 255, divided by a deviation of 0.225.
        assert!(sum / (cpu.len() as f32) < 2.0 / 255.0 / 0.225);
    }
}

#[test]
fn failures_are_those_of_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(40).broken(&[18, 19, 20]).with_entry_points();
    for policy in [OnError::Skip, OnError::Substitute] {
        let failures = Failures { on_error: policy, max: 10, ..Failures::default() };
        let options = options(8, 16).failures(failures).sampling(Sampling::Sequential);
        let mut cpu = loader(&reader, options.clone());
        let mut gpu = on_device(&reader, options, device());
        while let Some(batch) = cpu.next_batch() {
            assert_alike(&batch.unwrap(), &gpu.next_batch().unwrap().unwrap());
        }
        let (cpu, gpu) = (cpu.stats(), gpu.stats());
        assert_eq!(
            (cpu.samples, cpu.failures, cpu.substituted),
            (gpu.samples, gpu.failures, gpu.substituted)
        );
    }
    // Raised in order, after the batches before it.
    let reader = Memory::new(40).broken(&[18]).with_entry_points();
    let mut gpu = on_device(&reader, options(8, 16).sampling(Sampling::Sequential), device());
    for _ in 0..2 {
        gpu.next_batch().unwrap().unwrap();
    }
    let before = gpu.state();
    let said = gpu.next_batch().unwrap().err().unwrap().to_string();
    assert!(said.contains("sample-18"), "{said}");
    assert_eq!(gpu.state(), before, "what failed was not consumed");
}

#[test]
fn resumed_runs_go_on_exactly() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(60).with_entry_points();
    let all: Vec<_> = on_all(&mut on_device(&reader, random_crop(), device()));
    for taken in [1, 3, 5] {
        let mut first = on_device(&reader, random_crop(), device());
        for _ in 0..taken {
            first.next_batch().unwrap().unwrap();
        }
        // A stopped loader continues; its state also continues in another loader and on the CPU.
        let state = first.state();
        first.stop();
        assert_eq!(on_all(&mut first), all[taken..]);
        let mut second = on_device(&reader, random_crop(), device());
        second.restore(&state).unwrap();
        assert_eq!(on_all(&mut second), all[taken..]);
        let mut third = loader(&reader, random_crop());
        third.restore(&state).unwrap();
        let samples: Vec<_> = third.map(|batch| batch.unwrap().samples().to_vec()).collect();
        assert!(samples.iter().eq(all[taken..].iter().map(|(samples, _)| samples)));
    }
    // A restore fails while batches are in flight, including the last ones.
    let start = on_device(&reader, random_crop(), device()).state();
    let mut under_way = on_device(&reader, random_crop(), device());
    for _ in &all {
        under_way.next_batch().unwrap().unwrap();
        let refused = under_way.restore(&start).unwrap_err().to_string();
        assert!(refused.contains("under way"), "{refused}");
    }
    assert!(under_way.next_batch().is_none());
    under_way.restore(&start).unwrap();
    assert_eq!(on_all(&mut under_way), all);
    // Stopped after the last batch, the end of the epoch is still to come.
    let mut whole = on_device(&reader, random_crop(), device());
    for expected in &all {
        assert_eq!(whole.next_batch().unwrap().unwrap().samples(), expected.0);
    }
    whole.stop();
    assert_eq!(on_all(&mut whole), []);
    assert_eq!(whole.epoch(), 1);
    let mut moved = on_device(&reader, random_crop(), device());
    moved.next_batch().unwrap().unwrap();
    moved.set_epoch(0).unwrap();
    assert_eq!(on_all(&mut moved), all[1..], "the epoch under way continues");
    moved.set_epoch(0).unwrap();
    assert_eq!(on_all(&mut moved), all);
}

fn on_all(gpu: &mut Loader) -> Vec<(Vec<u64>, Vec<u8>)> {
    let batches = gpu.map(Result::unwrap);
    batches.map(|batch| (batch.samples().to_vec(), to_host(&batch).unwrap())).collect()
}

#[test]
fn kept_images_are_not_read_again() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(60).with_entry_points();
    let streamed = on_two_epochs(&mut on_device(&reader, random_crop(), device()));
    let before = reader.n_reads();
    for fetch_threads in [0, 2] {
        let options = random_crop().fetch_threads(fetch_threads);
        let mut keeping =
            on_device(&reader, options, DeviceOptions { device_cache_bytes: 1 << 20, ..device() });
        assert_eq!(on_two_epochs(&mut keeping), streamed);
        assert!(decoded(&keeping).stored_bytes > 0);
    }
    // In the second epoch only the twenty that are not JPEGs.
    assert_eq!(reader.n_reads() - before, 2 * (60 + 20));
    // The number that fits.
    let options = DeviceOptions { device_cache_bytes: 8 << 10, ..device() };
    let mut keeping = on_device(&reader, random_crop(), options);
    assert_eq!(on_two_epochs(&mut keeping), streamed);
    let stored_bytes = decoded(&keeping).stored_bytes;
    assert!((4 << 10..=8 << 10).contains(&stored_bytes), "{stored_bytes}");
}

fn on_two_epochs(gpu: &mut Loader) -> Vec<(Vec<u64>, Vec<u8>)> {
    let mut batches = on_all(gpu);
    batches.extend(on_all(gpu));
    batches
}

#[test]
fn what_cannot_be_is_refused() {
    let fake = FakeDriver::take().unwrap();
    let reader = Memory::new(10);
    let refuse = |options: Options, device: DeviceOptions| {
        let options = options.device(Some(device));
        Loader::new(Datasets::one(reader.clone()).unwrap(), options).err().unwrap()
    };
    let liquid = random_crop().cache_policy(LIQUID);
    let error = refuse(liquid, DeviceOptions { device_cache_bytes: 1, ..device() });
    assert!(
        matches!(&error, Error::Usage { option, .. } if option.name == "device_cache_bytes"),
        "{error}"
    );
    for options in [
        random_crop().views(vec![ViewGroup::new("", 2, TransformList::default())]),
        random_crop().masks(vec![MaskOptions::of("mask")]),
        random_crop().objects(Some(ObjectOptions::of("objects"))),
        random_crop().geometry(true),
    ] {
        let said = refuse(options, device()).to_string();
        assert!(
            said.contains("are made on the CPU only") && said.contains("no `device`"),
            "{said}"
        );
    }
    let mixup = Transform::MixUp { alpha: 0.2, num_classes: None };
    let mixed = random_crop().transform(list([Transform::center_crop(16), mixup]));
    let error = refuse(mixed, device());
    assert!(error.to_string().contains("transform: batches on a GPU are not mixed"), "{error}");
    let error = refuse(random_crop(), DeviceOptions { driver: Some("/none".into()), ..device() });
    assert!(error.chain().contains("no CUDA driver"), "{}", error.chain());
    let error = refuse(random_crop(), DeviceOptions { ordinal: 3, ..device() });
    assert!(error.chain().contains("no GPU 3"), "{}", error.chain());
    fake.pretend(FakeMachine { n_devices: 0, ..FakeMachine::DEFAULT });
    assert!(matches!(refuse(random_crop(), device()), Error::Device { .. }));
}

/// Kernels cut, resize and mirror; the CPU makes all rows with other changes, and their bytes.
#[test]
fn rows_that_kernels_cannot_make_are_made_by_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let reader = Memory::new(40).with_entry_points();
    for json in [
        "[{\"Letterbox\": {\"size\": [16, 90]}}, {\"RandomHorizontalFlip\": {}}]",
        "[{\"CenterCrop\": {\"size\": [50, 50]}}]",
        "[{\"RandomResizedCrop\": {\"size\": [16, 16]}}, {\"RandomVerticalFlip\": {\"p\": 1}}]",
        "[{\"RandomRotation\": {\"degrees\": [1, 30]}}, {\"Resize\": {\"size\": [16, 16]}}]",
        "[{\"RandomResizedCrop\": {\"size\": [16, 16]}}, {\"GaussianBlur\": {\"kernel_size\": [3, 3]}}]",
        "[{\"RandomResizedCrop\": {\"size\": [16, 16]}}, {\"RandomErasing\": {\"p\": 1}}]",
    ] {
        let transforms: Vec<Transform> = serde_json::from_str(json).unwrap();
        let options = options(7, 16).transform(list(transforms));
        let mut gpu = on_device(&reader, options.clone(), device());
        let rows = on_all(&mut gpu);
        let cpu = loader(&reader, options).map(Result::unwrap);
        let expected = cpu.map(|batch| (batch.samples().to_vec(), batch.images().to_vec()));
        assert!(rows == expected.collect::<Vec<_>>(), "{json}");
        assert_eq!((decoded(&gpu).by_cpu, decoded(&gpu).by_index), (40, 0), "{json}");
    }
}

#[test]
fn a_failing_driver_ends_the_epoch_and_leaks_nothing() {
    let fake = FakeDriver::take().unwrap();
    let reader = Memory::new(24).with_entry_points();
    let (expected, n_calls) = {
        let mut gpu = on_device(&reader, random_crop(), device());
        fake.reset();
        (on_all(&mut gpu), fake.counters().calls)
    };
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
    let mut n_noticed = 0;
    for call in (1..=n_calls).step_by(7) {
        let mut gpu = on_device(&reader, random_crop(), device());
        fake.reset();
        fake.fail(call, 700);
        let (mut seen, mut n_delivered) = (Vec::new(), 0);
        let mut next = || {
            let batch = gpu.next_batch()?;
            n_delivered += usize::from(batch.is_ok());
            Some(batch.and_then(|it| Ok((it.samples().to_vec(), to_host(&it)?))))
        };
        let failed = loop {
            match next() {
                Some(Ok(batch)) => seen.push(batch),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        assert!(seen == expected[..seen.len()], "call {call}");
        fake.reset();
        match failed {
            // It continues after the last delivered batch.
            Some(error) => {
                assert!(matches!(error, Error::Device { .. }), "call {call}: {error}");
                if n_delivered > seen.len() {
                    // A copy to the host has failed, unknown to the loader. A lost context is lost
                    // for batches in flight, too.
                    gpu.stop();
                }
                assert!(on_all(&mut gpu) == expected[n_delivered..], "call {call}");
                n_noticed += 1;
            }
            // A release failed, which no caller could handle.
            None => assert_eq!(seen.len(), expected.len(), "call {call} failed unnoticed"),
        }
        drop(gpu);
        assert!(fake.counters().is_clean(), "call {call}: {:?}", fake.counters());
    }
    assert!(n_noticed > n_calls / 7 / 2, "{n_noticed} of {n_calls}");
}
