//! `fdconvert gpu`, on machines with and without a GPU.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::ok;
use fdconvert_gpu_emul::{FakeDriver, FakeNvJpeg};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn without_a_driver_it_says_so() {
    let text = ok(&[&"gpu", &"probe", &"--driver", &"no/such/driver.so"]);
    assert!(text.starts_with("driver    none: no CUDA driver: no/such/driver.so: "), "{text}");
    assert!(text.ends_with("used      cpu: there is no CUDA driver\n"), "{text}");
    let json = ok(&[&"gpu", &"probe", &"--driver", &"no/such/driver.so", &"--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["driver"], &json["gpu"]), (&Value::Null, &Value::Null));
    assert_eq!((&json["used"], &json["backends"]), (&json!("cpu"), &json!(["cpu"])));
    // Every machine gives an answer.
    assert!(ok(&[&"gpu", &"probe"]).contains("\nused      "));
}

#[test]
fn with_a_gpu_it_says_which() {
    let driver = FakeDriver::path();
    let text = ok(&[&"gpu", &"probe", &"--driver", &driver]);
    assert!(text.starts_with("driver    for CUDA 12.4\nGPU 0     Made of tests: "), "{text}");
    assert!(text.contains("used      entry points: GPU 0 can decode "), "{text}");
    let json = ok(&[&"gpu", &"probe", &"--json", &"--driver", &driver]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["document"], "fdconvert-gpu-probe");
    assert_eq!((&json["driver"], &json["missing"]), (&json!("12.4"), &Value::Null));
    assert_eq!((&json["used"], &json["gpu"]), (&json!("entry_points"), &json!(0)));
    let device = &json["devices"][0];
    assert_eq!(
        (&device["compute_capability"], &device["supported"]),
        (&json!("9.0"), &json!(true))
    );
    // Exactly one of the two is reported, whether this machine has it or not.
    assert_ne!(json["nvjpeg"].is_string(), json["nvjpeg_missing"].is_string(), "{json}");
    let has_it = json["backends"].as_array().unwrap().contains(&json!("nvjpeg"));
    assert_eq!(has_it, json["nvjpeg"].is_string());
    assert!(text.contains("\nnvJPEG    "), "{text}");
    for key in ["ordinal", "name", "memory_bytes", "multiprocessors", "clock_khz"] {
        assert!(!device[key].is_null(), "{key} is missing in {device}");
    }
}

#[test]
fn with_nvjpeg_it_tells_of_its_engines() {
    let probe = |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fdconvert"));
        command.args(["gpu", "probe", "--driver"]).arg(FakeDriver::path());
        command.env("FDCONVERT_NVJPEG_LIB", FakeNvJpeg::path());
        let output = command.args(json.then_some("--json")).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let text = probe(false);
    for engine in ["auto", "hybrid", "GPU hybrid", "hardware"] {
        assert!(text.contains(&format!("\n          engine {engine}: ")), "{text}");
    }
    let json: Value = serde_json::from_str(&probe(true)).unwrap();
    assert!(json["nvjpeg"].is_string(), "{json}");
    assert_eq!(json["nvjpeg_engines"].as_array().unwrap().len(), 4);
    assert_eq!(json["backends"], json!(["entry_points", "nvjpeg", "cpu"]));
}
