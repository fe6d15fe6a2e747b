//! Compiles the kernels of fdconvert-gpu for the CPU, into this crate and into a shared library
//! that replaces the driver, and a second library that replaces nvJPEG.
use std::{env, path::Path, process::Command};

fn main() {
    let kernels = Path::new("../gpu/kernels");
    let build = || {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(2).include(kernels).warnings(true);
        // Products and sums are fused only where the kernels say so.
        build.flag_if_supported("-ffp-contract=off");
        build
    };
    for folder in [kernels, Path::new("src")] {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    build().file("src/emulator.cpp").compile("fdconvert_gpu_emulator");

    for (source, variable) in
        [("fake_cuda", "FDCONVERT_FAKE_CUDA"), ("fake_nvjpeg", "FDCONVERT_FAKE_NVJPEG")]
    {
        let folder = env::var("OUT_DIR").unwrap_or_default();
        let library = Path::new(&folder).join(format!("lib{source}.so"));
        let mut command: Command = build().pic(true).get_compiler().to_command();
        command
            .args(["-shared", "-pthread", "-fvisibility=hidden"])
            .arg(format!("src/{source}.cpp"))
            .arg("-o")
            .arg(&library);
        let done = command.status().is_ok_and(|status| status.success());
        assert!(done, "{command:?} failed");
        println!("cargo::rustc-env={variable}={}", library.display());
    }
}
