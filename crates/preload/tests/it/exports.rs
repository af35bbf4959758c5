//! The names that the library exports and needs, neither more nor fewer than its list and its page say.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Trial;
use testkit::needs;

/// The library that cargo built for this test lies beside the test itself.
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

// The list from which the library's exports are made.
include!("../../src/list.rs");

macro_rules! define_rooms {
    (($d:tt) nouns: $($noun:ident)*; $($module:ident $how:ident: $($plain:ident)*;)*) => {
        const NOUNS: &[&str] = &[$(stringify!($noun)),*];
        const NAMES: &[&str] = &[$($(stringify!($plain)),*),*];
    };
}
for_each_room! { define_rooms }

macro_rules! define_rows {
    ({ $($extra:tt)* } $($row:tt)*) => { define_rows! { @ $($extra)* $($row)* } };
    (@ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal, $flavour:ident, $need:ident;
        $arguments:tt])*) => {
        /// Noun, exported name and plain name of every row.
        const ROWS: &[[&str; 3]] = &[$([stringify!($noun), stringify!($symbol), stringify!($plain)]),*];
    };
}
for_each_row! { define_rows }

macro_rules! define_forwarded {
    ($($symbol:ident)*) => {
        const FORWARDED: &[&str] = &[$(stringify!($symbol)),*];
    };
}
for_each_forwarded! { define_forwarded }

fn is_hooked(noun: &str, plain: &str) -> bool {
    NOUNS.contains(&noun) || NAMES.contains(&plain)
}

fn names(names: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn the_exports_are_the_hooks_the_forwarders_and_five_more() {
    let hooked = names(ROWS.iter().filter(|[noun, _, plain]| is_hooked(noun, plain)).map(|[_, symbol, _]| *symbol));
    let forwarded = names(FORWARDED.iter().copied());
    assert!(hooked.is_disjoint(&forwarded));
    let others = names(["dlsym", "la_version", "la_objopen", "la_objsearch", "overtake_shared"]);
    let allowed: BTreeSet<String> = hooked.into_iter().chain(forwarded).chain(others).collect();
    let exported = exported();
    assert_eq!(exported.difference(&allowed).collect::<Vec<_>>(), Vec::<&String>::new(), "not allowed");
    assert_eq!(allowed.difference(&exported).collect::<Vec<_>>(), Vec::<&String>::new(), "not exported");
}

fn every_name_of_the_list_of_hooks_has_a_row() {
    for plain in NAMES {
        assert!(ROWS.iter().any(|[_, symbol, _]| symbol == plain), "{plain}");
    }
    for noun in NOUNS {
        assert!(ROWS.iter().any(|[other, _, _]| other == noun), "{noun}");
    }
}

fn a_program_that_links_to_the_driver_finds_every_function_of_the_list() {
    let exported = exported();
    for function in abi::FUNCTIONS {
        assert!(exported.contains(function.symbol), "{}", function.symbol);
    }
}

fn it_needs_the_c_library_alone_and_has_no_name_of_its_own() {
    let dynamic = output("readelf", &["-d", "-W"]);
    let allowed = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
    for line in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        assert!(allowed.iter().any(|name| line.contains(&format!("[{name}]"))), "{line}");
    }
    assert!(!dynamic.contains("(SONAME)"), "with a soname it would stand in for the real driver under LD_PRELOAD");
    assert!(dynamic.contains("NODELETE") && dynamic.contains("SYMBOLIC"), "{dynamic}");
}

/// gcc's own initialiser, and the one by which Rust's library keeps the arguments.
fn nothing_of_ours_runs_when_it_is_loaded() {
    let dynamic = output("readelf", &["-d", "-W"]);
    let initialisers = dynamic.lines().find(|line| line.contains("(INIT_ARRAYSZ)")).expect("the entry is there");
    assert!(initialisers.contains(" 16 (bytes)"), "{initialisers}");
}

/// Tasks, arrays, pipelines and heaps are for programs that ask for them. An unmodified program carries none of it.
fn nothing_above_the_copy_layer_is_linked() {
    let symbols = output("nm", &["--demangle", "--defined-only"]);
    let of = |room: &str| -> Vec<&str> { symbols.lines().filter(|line| belongs_to(line, room)).collect() };
    assert!(!of("overtake_copies").is_empty(), "the listing shows the rooms by their names");
    for room in ["overtake", "overtake_graph", "overtake_stages", "offset_allocator"] {
        assert_eq!(of(room), Vec::<&str>::new(), "{room}");
    }
}

/// Whether a line of `nm` names an item of that crate, or a generic one of another crate for it.
fn belongs_to(line: &str, room: &str) -> bool {
    let is_part = |before: &str| before.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ':');
    line.match_indices(&format!("{room}::")).any(|(at, _)| !is_part(&line[..at]))
}

pub fn trials() -> Vec<Trial> {
    let trials: [(&str, fn()); 6] = [
        (
            "the_exports_are_the_hooks_the_forwarders_and_five_more",
            the_exports_are_the_hooks_the_forwarders_and_five_more,
        ),
        ("every_name_of_the_list_of_hooks_has_a_row", every_name_of_the_list_of_hooks_has_a_row),
        (
            "a_program_that_links_to_the_driver_finds_every_function_of_the_list",
            a_program_that_links_to_the_driver_finds_every_function_of_the_list,
        ),
        (
            "it_needs_the_c_library_alone_and_has_no_name_of_its_own",
            it_needs_the_c_library_alone_and_has_no_name_of_its_own,
        ),
        ("nothing_of_ours_runs_when_it_is_loaded", nothing_of_ours_runs_when_it_is_loaded),
        ("nothing_above_the_copy_layer_is_linked", nothing_above_the_copy_layer_is_linked),
    ];
    needs::checks("exports", trials)
}
