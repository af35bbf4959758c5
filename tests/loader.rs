//! The loader with libraries that are missing, are no drivers, or lack functions. There is one process for each
//! environment, because the fixtures read it.

use std::ffi::{CString, OsStr, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::NonNull;

use abi::types::{CU_GET_PROC_ADDRESS_LEGACY_STREAM, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
use backend::{Backend, open};
use driver::{CudaDriver, Functions, LIBRARY_VARIABLE, Library};
use hal::{Code, Driver, Stream};
use testkit::alone::is_alone_with;

/// Builds a shared library from C text, once per test.
fn build(name: &str, source: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (text, library) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    std::fs::write(&text, source).expect("the temporary folder is writable");
    let status = Command::new("gcc")
        .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&library, &text])
        .status()
        .expect("gcc is installed");
    assert!(status.success(), "gcc refused {}", text.display());
    library
}

/// The library whose faults POOR_DRIVER_LACKS and POOR_DRIVER_RESULT choose.
fn poor_driver(name: &str) -> PathBuf {
    build(name, include_str!("fixtures/poor_driver.c"))
}

fn library(path: &OsStr) -> Library {
    Library::open(path).expect("the fixture is a library")
}

#[test]
fn the_variable_names_the_library() {
    if !is_alone_with("the_variable_names_the_library", &[(LIBRARY_VARIABLE, "/nonexistent")]) {
        return;
    }
    let error = CudaDriver::get().unwrap_err();
    assert_eq!((error.call(), error.code()), ("dlopen", Code::SHARED_OBJECT_INIT_FAILED));
    assert!(error.to_string().contains("/nonexistent") && error.to_string().contains("install the NVIDIA driver"));
}

#[test]
fn a_library_that_is_no_driver_is_refused() {
    let path = build("no_driver", "int nothing(void); int nothing(void) { return 0; }\n");
    let error = Functions::load(library(path.as_os_str())).unwrap_err();
    assert_eq!((error.call(), error.code()), ("dlsym", Code::SHARED_OBJECT_SYMBOL_NOT_FOUND));
    assert!(error.to_string().contains("cuGetProcAddress_v2"), "{error}");
}

#[test]
fn absent_required_functions_are_named() {
    if !is_alone_with("absent_required_functions_are_named", &[("POOR_DRIVER_LACKS", "cuMemAlloc,cuStreamQuery")]) {
        return;
    }
    let error = CudaDriver::open(library(poor_driver("poor_required").as_os_str())).unwrap_err();
    assert_eq!((error.call(), error.code()), ("cuGetProcAddress_v2", Code::SHARED_OBJECT_SYMBOL_NOT_FOUND));
    let text = error.to_string();
    assert!(text.contains("(CUDA 12.0) lacks cuStreamQuery, cuMemAlloc_v2;"), "{text}");
}

#[test]
fn absent_optional_functions_fail_only_when_called() {
    let variables = [("POOR_DRIVER_LACKS", "cuStreamWaitValue32,cuStreamGetFlags")];
    if !is_alone_with("absent_optional_functions_fail_only_when_called", &variables) {
        return;
    }
    let driver =
        CudaDriver::open(library(poor_driver("poor_optional").as_os_str())).expect("nothing required is absent");
    let error = driver.stream_flags(Stream(7)).unwrap_err();
    assert_eq!((error.call(), error.code()), ("cuStreamGetFlags", Code::NOT_FOUND));
    assert!(error.to_string().contains("CUDA 5.5 brought it"), "{error}");
    let pointers = driver.functions().pointers();
    assert!(pointers.cuStreamWaitValue32_v2.is_none() && pointers.cuStreamWriteValue32_v2.is_some());
}

#[test]
fn prototypes_newer_than_the_driver_are_absent_though_it_answers_for_them() {
    let driver =
        CudaDriver::open(library(poor_driver("poor_version").as_os_str())).expect("nothing required is absent");
    let pointers = driver.functions().pointers();
    assert!(pointers.cuMemcpyBatchAsync.is_none(), "introduced by 12.8, the driver is 12.0");
    assert!(pointers.cuStreamGetId.is_some(), "introduced by 12.0");
}

#[test]
fn codes_that_we_do_not_know_carry_the_drivers_words() {
    if !is_alone_with("codes_that_we_do_not_know_carry_the_drivers_words", &[("POOR_DRIVER_RESULT", "4711")]) {
        return;
    }
    let driver = CudaDriver::open(library(poor_driver("poor_result").as_os_str())).expect("nothing required is absent");
    let error = driver.context_synchronize().unwrap_err();
    assert_eq!(error.code().get(), 4711);
    assert!(error.to_string().contains("CUDA_ERROR_FROM_THE_FUTURE"), "{error}");
}

#[test]
fn not_ready_is_an_answer() {
    if !is_alone_with("not_ready_is_an_answer", &[("POOR_DRIVER_RESULT", "600")]) {
        return;
    }
    let driver = CudaDriver::open(library(poor_driver("poor_ready").as_os_str())).expect("nothing required is absent");
    assert_eq!(driver.stream_query(Stream::DEFAULT), Ok(false));
    assert_eq!(driver.stream_synchronize(Stream::DEFAULT).unwrap_err().code(), Code::NOT_READY);
}

/// The function that `cuGetProcAddress` of this driver returns for a row.
fn given(functions: &Functions, row: &abi::Function) -> *mut c_void {
    let flags = match row.flavour {
        abi::Flavour::Plain => CU_GET_PROC_ADDRESS_LEGACY_STREAM,
        abi::Flavour::Ptds | abi::Flavour::Ptsz => CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
    };
    let name = CString::new(row.base).expect("no NUL in the list");
    let (mut address, mut status) = (std::ptr::null_mut(), 0);
    // SAFETY: the name is NUL-terminated, the other two pointers are live locals.
    let result = unsafe {
        functions.cuGetProcAddress_v2(name.as_ptr(), &mut address, row.version, u64::from(flags), &mut status)
    };
    // For a missing function a driver answers with an error or with null.
    if result.is_ok() { address } else { std::ptr::null_mut() }
}

#[test]
fn the_driver_at_hand_gives_for_each_row_the_symbol_that_the_row_names() {
    let library = match Library::open_default() {
        Ok(library) => library,
        Err(error) => return eprintln!("no driver to compare with: {error}"),
    };
    let functions = Functions::load(library).expect("a driver that loads has the required functions");
    let export = |symbol: &str| {
        let name = CString::new(symbol).expect("no NUL in the list");
        functions.library().symbol(&name).map_or(std::ptr::null_mut(), NonNull::as_ptr)
    };
    let wrong: Vec<&str> = abi::FUNCTIONS
        .iter()
        .filter(|row| !given(&functions, row).is_null() && given(&functions, row) != export(row.symbol))
        .map(|row| row.symbol)
        .collect();
    assert!(wrong.is_empty(), "cuGetProcAddress gives other functions than the exports for {wrong:?}");
}

#[test]
fn auto_falls_back_to_the_software_gpu_and_says_why() {
    let variables = [(LIBRARY_VARIABLE, "/nonexistent"), ("OVERTAKE_BACKEND", "")];
    if !is_alone_with("auto_falls_back_to_the_software_gpu_and_says_why", &variables) {
        return;
    }
    let opened = open(Backend::from_environment().expect("empty means auto")).expect("there is always a software GPU");
    assert_eq!((opened.backend, opened.driver.backend()), (Backend::Soft, "soft"));
    assert!(opened.reason.contains("no real GPU") && opened.reason.contains("/nonexistent"), "{}", opened.reason);
    assert!(open(Backend::Cuda).is_err());
}

#[test]
fn auto_wants_a_device_and_not_only_a_library() {
    let library = poor_driver("poor_deviceless");
    if !is_alone_with(
        "auto_wants_a_device_and_not_only_a_library",
        &[(LIBRARY_VARIABLE, &library.display().to_string())],
    ) {
        return;
    }
    // The poor driver succeeds at every call and writes nothing: it counts no devices.
    assert_eq!(open(Backend::Cuda).unwrap_err().code(), Code::NO_DEVICE);
    let opened = open(Backend::Auto).expect("there is always a software GPU");
    assert_eq!(opened.backend, Backend::Soft);
    assert!(opened.reason.contains("finds no device"), "{}", opened.reason);
}

#[test]
fn an_unknown_backend_is_refused() {
    if !is_alone_with("an_unknown_backend_is_refused", &[("OVERTAKE_BACKEND", "gpu")]) {
        return;
    }
    let error = Backend::from_environment().unwrap_err().to_string();
    assert!(error.contains("auto, cuda or soft"), "{error}");
}

#[test]
fn the_software_gpus_clock_is_chosen_by_the_environment() {
    if !is_alone_with("the_software_gpus_clock_is_chosen_by_the_environment", &[("OVERTAKE_SOFT_CLOCK", "fast")]) {
        return;
    }
    let error = open(Backend::Soft).unwrap_err().to_string();
    assert!(error.contains("stepped or free"), "{error}");
}
