//! The library from outside: its exports, their names, and the ways to find every row of the list.

use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;

use abi::types::{
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, CU_GET_PROC_ADDRESS_SUCCESS, CUdriverProcAddressQueryResult,
    CUresult, cuuint64_t,
};
use abi::{FUNCTIONS, Flavour, Function};
use libtest_mimic::Trial;
use testkit::needs;

use crate::common;

fn output_of(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program} ({error}): install gcc and binutils"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names of symbols are text")
}

/// Functions that no code of ours calls, so the list lacks them. Programs do.
const UNLISTED: [&str; 10] = [
    "cuCtxAttach",
    "cuCtxDetach",
    "cuMemAddressFree",
    "cuMemAddressReserve",
    "cuMemCreate",
    "cuMemGetAllocationGranularity",
    "cuMemMap",
    "cuMemRelease",
    "cuMemSetAccess",
    "cuMemUnmap",
];

fn exactly_the_list_is_exported() {
    let folder = common::folder("entry_points_exports");
    common::install_library(&folder);
    let symbols = output_of("nm", &["-D", "--defined-only"], &folder.join("libcuda.so"));
    let exported: BTreeSet<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let listed = FUNCTIONS.iter().map(|function| function.symbol);
    let listed: BTreeSet<&str> = listed.chain(UNLISTED).collect();
    assert_eq!(exported, listed);
}

fn the_dynamic_linker_knows_it_as_the_driver() {
    let folder = common::folder("entry_points_name");
    common::install_library(&folder);
    let section = output_of("readelf", &["-d"], &folder.join("libcuda.so"));
    assert!(section.contains("Library soname: [libcuda.so.1]"), "{section}");
    assert!(section.contains("SYMBOLIC"), "{section}");
    assert!(section.contains("NODELETE"), "{section}");
}

type GetProcAddress = unsafe extern "C" fn(
    *const c_char,
    *mut *mut c_void,
    c_int,
    cuuint64_t,
    *mut CUdriverProcAddressQueryResult,
) -> CUresult;

/// The library, opened.
struct Library(*mut c_void);

impl Library {
    fn open(folder: &Path) -> Library {
        let path = CString::new(folder.join("libcuda.so.1").to_str().expect("a path of text")).expect("no zero byte");
        // SAFETY: the path is a live C string; the library's initialisers need nothing that this process lacks.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "dlopen of {path:?} failed");
        Library(library)
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let name = CString::new(name).expect("no zero byte");
        // SAFETY: an open library and a live C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }

    /// The address that `cuGetProcAddress_v2` returns.
    fn ask(&self, function: &Function) -> *mut c_void {
        let ask = self.symbol("cuGetProcAddress_v2");
        assert!(!ask.is_null());
        // SAFETY: the symbol is a function of this prototype, as the list of functions says.
        let ask = unsafe { std::mem::transmute::<*mut c_void, GetProcAddress>(ask) };
        let flags = match function.flavour {
            Flavour::Plain => 0,
            Flavour::Ptds | Flavour::Ptsz => u64::from(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
        };
        let name = CString::new(function.base).expect("no zero byte");
        let (mut address, mut status) = (std::ptr::null_mut(), 99);
        // SAFETY: a live C string and two live outputs.
        let code = unsafe { ask(name.as_ptr(), &raw mut address, function.version, flags, &raw mut status) };
        assert_eq!((code, status), (CUresult(0), CU_GET_PROC_ADDRESS_SUCCESS), "{}", function.symbol);
        address
    }
}

fn every_row_is_found_at_the_version_that_introduced_it() {
    let folder = common::folder("entry_points_search");
    common::install_library(&folder);
    let library = Library::open(&folder);
    for function in FUNCTIONS {
        let address = library.symbol(function.symbol);
        assert!(!address.is_null(), "{}", function.symbol);
        assert_eq!(library.ask(function), address, "{}", function.symbol);
    }
}

pub fn trials() -> Vec<Trial> {
    let trials: [(&str, fn()); 3] = [
        ("exactly_the_list_is_exported", exactly_the_list_is_exported),
        ("the_dynamic_linker_knows_it_as_the_driver", the_dynamic_linker_knows_it_as_the_driver),
        ("every_row_is_found_at_the_version_that_introduced_it", every_row_is_found_at_the_version_that_introduced_it),
    ];
    needs::checks("entry_points", trials)
}
