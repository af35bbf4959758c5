//! What the library exports and needs: nothing more and nothing less than the page of each says.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The library that cargo built for this test: it lies beside the test itself.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    test.parent().expect("a file has a folder").join("libovertake_preload.so")
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{program} does not start: {error}; install binutils"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn exported() -> BTreeSet<String> {
    let listing = output("nm", &["-D", "--defined-only"]);
    listing.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

/// The names in the macro of `exports.rs`.
fn forwarded() -> BTreeSet<String> {
    let text = include_str!("../src/exports.rs");
    let names = text.split("$callback! {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list is there");
    names.split_whitespace().map(str::to_owned).collect()
}

/// Whether a name of the one list is hooked, as the README says it: by room, or by name.
fn is_hooked(function: &abi::Function) -> bool {
    const NAMES: [&str; 49] = [
        "cuInit",
        "cuGetProcAddress",
        "cuGetProcAddress_v2",
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxRelease_v2",
        "cuDevicePrimaryCtxReset_v2",
        "cuCtxCreate_v2",
        "cuCtxCreate_v4",
        "cuCtxDestroy_v2",
        "cuStreamDestroy_v2",
        "cuCtxSynchronize",
        "cuCtxSynchronize_v2",
        "cuStreamQuery",
        "cuStreamSynchronize",
        "cuEventQuery",
        "cuEventSynchronize",
        "cuStreamWaitEvent",
        "cuStreamBeginCapture_v2",
        "cuStreamBeginCaptureToGraph",
        "cuStreamEndCapture",
        "cuEventRecord",
        "cuEventRecordWithFlags",
        "cuMemAllocHost_v2",
        "cuMemHostAlloc",
        "cuMemHostRegister_v2",
        "cuMemAlloc_v2",
        "cuMemAllocPitch_v2",
        "cuMemAllocManaged",
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuMemHostUnregister",
        "cuMemFreeAsync",
        "cuStreamCreate",
        "cuStreamCreateWithPriority",
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleLoadFatBinary",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuModuleGetGlobal_v2",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
    ];
    matches!(function.noun, "copy" | "set") || NAMES.contains(&function.plain)
}

/// Older and newer entry points that the one list does not have.
const BESIDE_THE_LIST: [&str; 21] = [
    "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxReset",
    "cuCtxDestroy",
    "cuStreamDestroy",
    "cuStreamBeginCapture",
    "cuStreamBeginCapture_ptsz",
    "cuStreamBeginCaptureToCig",
    "cuStreamBeginCaptureToCig_ptsz",
    "cuStreamBeginRecaptureToGraph",
    "cuStreamBeginRecaptureToGraph_ptsz",
    "cuMemHostRegister",
    "cuLibraryLoadData",
    "cuLibraryLoadFromFile",
    "cuLibraryUnload",
    "cuLibraryGetModule",
    "cuKernelGetFunction",
    "cuFuncLoad",
    "cuGraphInstantiateWithParams",
    "cuGraphInstantiateWithParams_ptsz",
    "cuGraphUpload",
    "cuGraphUpload_ptsz",
];

#[test]
fn the_exports_are_the_hooks_the_forwarders_and_five_more() {
    let hooked = abi::FUNCTIONS.iter().filter(|function| is_hooked(function)).map(|function| function.symbol);
    let others = ["dlsym", "la_version", "la_objopen", "la_objsearch", "overtake_shared"];
    let hooked: BTreeSet<String> = hooked.chain(BESIDE_THE_LIST).map(str::to_owned).collect();
    let forwarded = forwarded();
    assert!(hooked.is_disjoint(&forwarded));
    let allowed: BTreeSet<String> = hooked.into_iter().chain(forwarded).chain(others.map(str::to_owned)).collect();
    let exported = exported();
    assert_eq!(exported.difference(&allowed).collect::<Vec<_>>(), Vec::<&String>::new(), "not allowed");
    assert_eq!(allowed.difference(&exported).collect::<Vec<_>>(), Vec::<&String>::new(), "not exported");
}

#[test]
fn a_program_that_links_to_the_driver_finds_every_function_of_the_list() {
    let exported = exported();
    for function in abi::FUNCTIONS {
        assert!(exported.contains(function.symbol), "{}", function.symbol);
    }
}

#[test]
fn it_needs_the_c_library_alone_and_has_no_name_of_its_own() {
    let dynamic = output("readelf", &["-d", "-W"]);
    let allowed = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
    for line in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        assert!(allowed.iter().any(|name| line.contains(&format!("[{name}]"))), "{line}");
    }
    assert!(!dynamic.contains("(SONAME)"), "with a soname it would stand in for the real driver under LD_PRELOAD");
    assert!(dynamic.contains("NODELETE") && dynamic.contains("SYMBOLIC"), "{dynamic}");
}

/// Two words: gcc's own, and the one with which Rust's library takes note of the arguments.
#[test]
fn nothing_of_ours_runs_when_it_is_loaded() {
    let dynamic = output("readelf", &["-d", "-W"]);
    let initialisers = dynamic.lines().find(|line| line.contains("(INIT_ARRAYSZ)")).expect("the entry is there");
    assert!(initialisers.contains(" 16 (bytes)"), "{initialisers}");
}
