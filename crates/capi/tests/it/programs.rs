//! C and C++ programs on the software GPU: the headers in every standard of the languages, the programs of
//! `tests/programs` and the examples with the shared and the static library, and a stand-in for the drop-in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use libtest_mimic::{Failed, Trial};
use testkit::binaries::Binaries;
use testkit::pages;

use crate::common;

mod reports;

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
const STATIC_NEEDS: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// No calm: programs count copies by kernel, and on a busy machine a second may pass between two copies.
const CALM: &str = "calm_after_us=600000000";
/// Random programs in a run of all tests, and in one process.
const PROGRAMS: u32 = 10;
const PROGRAMS_A_PROCESS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Linked {
    Shared,
    Static,
    /// The shared one, with gcc's sanitizers for addresses, leaks and undefined behaviour, where gcc has them.
    Checked,
}

const SANITIZERS: [&str; 3] = ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

type Test = dyn Fn(&Place) -> Result<(), Failed> + Send;

struct Place {
    folder: PathBuf,
    driver: PathBuf,
    /// The C library, under its installed names.
    installed: PathBuf,
    programs: Binaries<PathBuf>,
    has_sanitizers: bool,
}

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

impl Place {
    fn new() -> Place {
        let folder = common::folder("programs");
        let (driver, installed) = (common::driver(&folder), common::library(&folder));
        let has_sanitizers = Place::links_sanitizers(&folder);
        Place { folder, driver, installed, programs: Binaries::none(), has_sanitizers }
    }

    fn links_sanitizers(folder: &Path) -> bool {
        let source = folder.join("sanitizers.c");
        std::fs::write(&source, "int main(void) { return 0; }\n").expect("the folder is ours");
        let mut command = Command::new("gcc");
        let built = command.args(SANITIZERS).arg(&source).arg("-o").arg(source.with_extension("")).output();
        built.is_ok_and(|output| output.status.success())
    }

    /// The compiler of a source, in the standard that its programs are written in.
    fn compiler(&self, source: &Path) -> Command {
        let is_c = source.extension().is_some_and(|extension| extension == "c");
        let mut command = Command::new(if is_c { "gcc" } else { "g++" });
        command.arg(if is_c { "-std=gnu11" } else { "-std=c++17" }).args(STRICT);
        command.arg("-I").arg(common::here().join("include")).arg("-I").arg(&self.driver);
        command.arg("-I").arg(common::here().join("../../tests/c"));
        command.arg("-I").arg(common::here().join("tests/programs"));
        let kernels = common::here().join("../workloads/src/workloads.ptx");
        command.arg(format!("-DKERNELS_PTX=\"{}\"", kernels.display()));
        command
    }

    fn build(&self, source: &Path, linked: Linked) -> Result<PathBuf, String> {
        let suffix = match linked {
            Linked::Shared => "shared",
            Linked::Static => "static",
            Linked::Checked => "checked",
        };
        let binary = self.folder.join(format!("{}_{suffix}", stem(source)));
        self.programs.get(binary.clone(), || self.link(source, linked, binary))
    }

    fn link(&self, source: &Path, linked: Linked, binary: PathBuf) -> Result<PathBuf, String> {
        let mut command = self.compiler(source);
        command.arg(source).arg("-o").arg(&binary).arg("-pthread").arg("-L").arg(&self.driver);
        match linked {
            Linked::Static => command.arg(self.installed.join("libovertake.a")).args(STATIC_NEEDS),
            Linked::Shared | Linked::Checked => command.arg("-L").arg(&self.installed).args(["-lovertake", "-ldl"]),
        };
        if linked == Linked::Checked && self.has_sanitizers {
            command.args(SANITIZERS);
        }
        // A program that makes no driver call of its own must not depend on the driver.
        common::succeed(command.args(["-Wl,--as-needed", "-lcuda"]))?;
        Ok(binary)
    }

    fn program(&self, binary: &Path, with_driver: bool) -> Command {
        let mut command = common::program(binary);
        let folders: &[&Path] = if with_driver { &[&self.installed, &self.driver] } else { &[&self.installed] };
        command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).expect("no colon in a folder of cargo's"));
        command.env("OVERTAKE_UNLISTED", CALM);
        command
    }
}

/// The lines in C++ of the crate's page, with streams and memory of the test's own.
fn page_in_cpp(place: &Place) -> Result<(), Failed> {
    let page = std::fs::read_to_string(common::here().join("README.md"))?;
    let (includes, lines) =
        pages::block(&page, "cpp", "overtake.hpp").split_once("\n\n").ok_or("includes, a blank line, a body")?;
    let program = format!(
        "{includes}\n#include \"expect.h\"\nint main()\n{{\nopen_device();\nsize_t bytes = 65536;\n\
         CUstream loader = new_stream(), worker = new_stream();\n\
         void *device = on_device(bytes), *token = pinned_bytes(bytes, 1);\n{lines}\n\
         int priority = 0;\nOK(overtake_stream_priority(loader, &priority));\n\
         REQUIRE(priority == OVERTAKE_PRIORITY_LOWEST);\nOK(cuCtxSynchronize());\n}}\n"
    );
    let source = place.folder.join("page.cpp");
    std::fs::write(&source, program)?;
    let binary = place.build(&source, Linked::Shared)?;
    common::run(&mut place.program(&binary, true))?;
    Ok(())
}

/// The lines in C++ that mention this, and what they say.
fn lines_of_the_page(place: &Place, name: &str, mention: &str, expected: &str) -> Result<(), Failed> {
    let page = std::fs::read_to_string(common::here().join("README.md"))?;
    let (includes, lines) =
        pages::block(&page, "cpp", mention).split_once("\n\n").ok_or("includes, a blank line, a body")?;
    let program = format!(
        "{includes}\n#include \"expect.h\"\nint main()\n{{\nopen_device();\nsize_t bytes = 65536;\n\
         void *device = on_device(bytes), *token = pinned_bytes(bytes, 1);\n(void)device, (void)token;\n{lines}\n}}\n"
    );
    let source = place.folder.join(name);
    std::fs::write(&source, program)?;
    says(place, &source, expected)
}

fn says(place: &Place, source: &Path, expected: &str) -> Result<(), Failed> {
    let binary = place.build(source, Linked::Shared)?;
    match common::run(&mut place.program(&binary, true))?.as_str() {
        said if said == expected => Ok(()),
        said => Err(format!("it says {said:?}").into()),
    }
}

/// Runs a program with everything switched off.
fn runs_off(place: &Place, source: &Path) -> Result<(), Failed> {
    let binary = place.build(source, Linked::Shared)?;
    common::run(place.program(&binary, true).env("OVERTAKE", "off"))?;
    Ok(())
}

/// The drop-in sees the copies of a program.
fn ours_under_the_drop_in(place: &Place, source: &str) -> Result<(), Failed> {
    let binary = place.build(&ours(source), Linked::Shared)?;
    common::run(place.program(&binary, true).env("LD_PRELOAD", common::built("libovertake_preload.so")))?;
    Ok(())
}

/// Runs a program whose configuration switches everything off.
fn off_by_its_options(place: &Place) -> Result<(), Failed> {
    let (binary, options) = (place.build(&ours("off.c"), Linked::Shared)?, place.folder.join("off.toml"));
    std::fs::write(&options, "enabled = false\n")?;
    common::run(place.program(&binary, true).env("OVERTAKE_CONFIG", &options))?;
    Ok(())
}

fn stem(source: &Path) -> String {
    let folder = source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = source.file_name().unwrap_or_default().to_string_lossy().replace('.', "_");
    format!("{folder}_{name}")
}

fn ours(name: &str) -> PathBuf {
    common::here().join("tests/programs").join(name)
}

fn example(name: &str) -> PathBuf {
    common::here().join("../../examples/c").join(name)
}

/// Runs a program that prints `ok`, or an example, which prints its measurements.
fn runs(place: &Place, source: &Path, linked: Linked) -> Result<(), Failed> {
    let binary = place.build(source, linked)?;
    let output = common::run(&mut place.program(&binary, true))?;
    let expected = if source.starts_with(common::here().join("tests")) { "ok\n" } else { "tokens behind 16 layers" };
    if output.contains(expected) { Ok(()) } else { Err(format!("it says {output:?}").into()) }
}

/// Without a driver no call may hang, crash or pretend to have copied.
fn without_driver(place: &Place, linked: Linked) -> Result<(), Failed> {
    let binary = place.build(&ours("no_driver.c"), linked)?;
    common::run(&mut place.program(&binary, false))?;
    common::run(place.program(&binary, false).env("OVERTAKE", "off"))?;
    Ok(())
}

/// Compiles a file that includes a header twice and uses nothing.
fn header(place: &Place, header: &str, compiler: &str, standard: &str) -> Result<(), Failed> {
    let extension = if compiler == "gcc" { "c" } else { "cpp" };
    let source = place.folder.join(format!("{}_{standard}.{extension}", header.replace('.', "_")));
    let text = format!("#include <{header}>\n#include <{header}>\nint main(void) {{ return OVERTAKE_OK; }}\n");
    std::fs::write(&source, text)?;
    let mut command = Command::new(compiler);
    command.arg(format!("-std={standard}")).args(STRICT).arg("-I").arg(common::here().join("include"));
    common::succeed(command.arg("-fsyntax-only").arg(&source))?;
    Ok(())
}

fn under_the_drop_in(place: &Place, linked: Linked) -> Result<(), Failed> {
    let binary = place.build(&ours("drop_in.c"), linked)?;
    common::run(place.program(&binary, true).env("LD_PRELOAD", common::built("libovertake_preload.so")))?;
    Ok(())
}

/// Runs a program with a function of its own for messages. None may reach standard error.
fn messages(place: &Place, drop_in: bool) -> Result<(), Failed> {
    let mut program = place.program(&place.build(&ours("messages.c"), Linked::Shared)?, true);
    // A message that this is set may come after the function has been taken away.
    program.env_remove("OVERTAKE_UNLISTED").env("OVERTAKE_AUTOMATIC", "teleport").stdout(Stdio::null());
    if drop_in {
        program.env("LD_PRELOAD", common::built("libovertake_preload.so"));
    }
    let output = program.stderr(Stdio::piped()).output()?;
    match output.status.success() && output.stderr.is_empty() {
        true => Ok(()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// A misspelt variable leads to one message in a process, and files that never end are left alone.
fn configuration(place: &Place, drop_in: bool) -> Result<(), Failed> {
    let source = ours(if drop_in { "drop_in.c" } else { "copies.c" });
    let binary = place.build(&source, Linked::Shared)?;
    let pipe = binary.with_extension(if drop_in { "drop_in_pipe" } else { "pipe" });
    let _absent = std::fs::remove_file(&pipe);
    common::succeed(Command::new("mkfifo").arg(&pipe))?;
    let mut program = Command::new("timeout");
    program.arg("60").arg(&binary).env("LD_LIBRARY_PATH", std::env::join_paths([&place.installed, &place.driver])?);
    program.env("OVERTAKE_RULES", &pipe).env("OVERTAKE_CONFIG", "/dev/zero").env("OVERTAKE_WAIT_BUGET_US", "30");
    program.env("OVERTAKE_UNLISTED", CALM); // as in `program`
    if drop_in {
        program.env("LD_PRELOAD", common::built("libovertake_preload.so"));
    }
    let output = program.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counts = ["OVERTAKE_WAIT_BUDGET_US?", "is a pipe", "/dev/zero: cannot be read: it is a device"]
        .map(|part| said.matches(part).count());
    if output.status.success() && counts == [1; 3] {
        Ok(())
    } else {
        Err(format!("{}, {counts:?}: {said}", output.status).into())
    }
}

/// Runs random calls of every function; `RANDOM_PROGRAMS` is their number.
fn random(place: &Place, linked: Linked, change: impl Fn(&mut Command)) -> Result<(), Failed> {
    let binary = place.build(&ours("random.c"), linked)?;
    let programs = std::env::var("RANDOM_PROGRAMS").map_or(Ok(PROGRAMS), |text| text.parse::<u32>())?;
    for first in (1..=programs).step_by(PROGRAMS_A_PROCESS) {
        let mut program = place.program(&binary, true);
        change(program.arg(first.to_string()).arg(PROGRAMS_A_PROCESS.to_string()));
        let said = common::run(&mut program)?;
        if !said.ends_with("ok\n") {
            return Err(format!("it says {said:?}").into());
        }
    }
    Ok(())
}

/// The output of the program when a drop-in of this version is loaded before the C library.
fn beside_drop_in(place: &Place, version: u32, shadow: bool) -> Result<String, Failed> {
    let folder = place.folder.join(format!("stand_in_{version}_{shadow}"));
    std::fs::create_dir_all(&folder)?;
    let stand_in = folder.join(if shadow { "libcuda.so.1" } else { "stand_in.so" });
    let mut command = place.compiler(&ours("stand_in.c"));
    command.arg(format!("-DABI={version}")).args(["-shared", "-fPIC", "-o"]).arg(&stand_in);
    common::succeed(command.arg(ours("stand_in.c")))?;
    let binary = place.build(&ours("shares.c"), Linked::Shared)?;
    let mut program = place.program(&binary, true);
    match shadow {
        true => program.env("LD_LIBRARY_PATH", std::env::join_paths([&folder, &place.installed])?),
        false => program.env("LD_PRELOAD", &stand_in),
    };
    Ok(common::run(&mut program)?)
}

fn shared_state(place: &Place, shadow: bool) -> Result<(), Failed> {
    let output = beside_drop_in(place, shim::table::TABLE_ABI, shadow)?;
    let expected = "preload 23\n0 0 104 -1 thirteen is no priority\n";
    if output == expected { Ok(()) } else { Err(format!("it says {output:?}").into()) }
}

fn state_of_another_version(place: &Place) -> Result<(), Failed> {
    let output = beside_drop_in(place, shim::table::TABLE_ABI + 1, false)?;
    if output.starts_with("c 7") { Ok(()) } else { Err(format!("it says {output:?}").into()) }
}

/// Calls of the library while a stream of the program waits for a later call of the same thread.
fn at_the_gate(place: &Place, options: &[(&str, &str)]) -> Result<(), Failed> {
    let binary = place.build(&ours("gate.c"), Linked::Shared)?;
    let said = common::run(place.program(&binary, true).envs(options.iter().copied()))?;
    if said == "ok\n" { Ok(()) } else { Err(format!("it says {said:?}").into()) }
}

/// The same with the layer of the drop-in, and channels that it makes in a copy.
fn at_the_gate_of_the_drop_in(place: &Place) -> Result<(), Failed> {
    let library = common::built("libovertake_preload.so").display().to_string();
    let test = "channels=on,emulation=bracket,urgent_transport=channel,transport=engine";
    at_the_gate(place, &[("LD_PRELOAD", &library), ("OVERTAKE_UNLISTED", test)])
}

type Plain = fn(&Place) -> Result<(), Failed>;

/// Headers of C++, and the standards that they are compiled in.
const HEADERS: [(&str, &str); 7] = [
    ("overtake.h", "c++11"),
    ("overtake.hpp", "c++17"),
    ("overtake.hpp", "c++20"),
    ("overtake_templates.hpp", "c++17"),
    ("overtake_arrays.hpp", "c++17"),
    ("overtake_pipelines.hpp", "c++17"),
    ("overtake_pipelines.hpp", "c++20"),
];

/// Programs that run with the shared library, as they are and with sanitizers.
const ALL: [&str; 16] = [
    "copies.c",
    "queue.c",
    "bounds.c",
    "storm.c",
    "refusals.c",
    "scopes.cpp",
    "tasks.c",
    "task_refusals.c",
    "ends.c",
    "tasks.cpp",
    "arrays.c",
    "room.c",
    "arrays.cpp",
    "frames.cpp",
    "pipelines.c",
    "templates.c",
];

/// Tests without a parameter.
const PLAIN: [(&str, Plain); 19] = [
    ("page.cpp", page_in_cpp),
    ("page_of_tasks.cpp", |place| lines_of_the_page(place, "page_of_tasks.cpp", "overtake::tasks", "it is there\n")),
    ("page_of_arrays.cpp", |place| lines_of_the_page(place, "page_of_arrays.cpp", "overtake::arrays", "2000\n")),
    ("alone_with_a_priority", reports::alone_with_a_priority),
    ("tasks_of_the_drop_in", |place| ours_under_the_drop_in(place, "tasks.c")),
    ("queue_of_the_drop_in", |place| ours_under_the_drop_in(place, "queue.c")),
    ("arrays_of_the_drop_in", |place| ours_under_the_drop_in(place, "arrays.c")),
    ("off", |place| runs_off(place, &ours("copies.c"))),
    ("quiet", |place| runs(place, &ours("quiet.c"), Linked::Shared)),
    ("arrays_off", |place| runs_off(place, &ours("arrays.c"))),
    ("pipelines_of_the_drop_in", |place| ours_under_the_drop_in(place, "pipelines.c")),
    ("pipelines_off", |place| runs_off(place, &ours("pipelines.c"))),
    ("tasks_off", |place| runs_off(place, &ours("tasks.c"))),
    ("queue_off", |place| runs_off(place, &ours("queue.c"))),
    ("off_by_its_options", off_by_its_options),
    ("gate", |place| at_the_gate(place, &[])),
    ("gate_without_channels", |place| at_the_gate(place, &[("OVERTAKE_UNLISTED", "channels=off")])),
    ("gate_of_the_drop_in", at_the_gate_of_the_drop_in),
    ("drop_in_of_another_version_is_left_alone", state_of_another_version),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: String, test: Box<Test>| {
        let programs: &[&str] = if name.contains("c++") || name.contains(".cpp") { &["g++"] } else { &[] };
        trials.push(common::trial("programs", &name, programs, move || test(&PLACE)));
    };
    for standard in ["c99", "c11", "c17"] {
        add(format!("header_{standard}"), Box::new(move |place| header(place, "overtake.h", "gcc", standard)));
    }
    for (name, standard) in HEADERS {
        add(format!("{name}_{standard}"), Box::new(move |place| header(place, name, "g++", standard)));
    }
    for (suffix, linked) in [("shared", Linked::Shared), ("static", Linked::Static)] {
        for source in ["priority.c", "priority.cpp"] {
            add(format!("example_{source}_{suffix}"), Box::new(move |place| runs(place, &example(source), linked)));
        }
        add(format!("drop_in_{suffix}"), Box::new(move |place| under_the_drop_in(place, linked)));
        add(format!("report_{suffix}"), Box::new(move |place| reports::of_copies(place, linked)));
        add(format!("no_driver_{suffix}"), Box::new(move |place| without_driver(place, linked)));
    }
    for source in ALL {
        add(format!("{source}_checked"), Box::new(move |place| runs(place, &ours(source), Linked::Checked)));
    }
    // Its threads meet otherwise where no sanitizer slows them down.
    add("storm.c_shared".to_owned(), Box::new(|place| runs(place, &ours("storm.c"), Linked::Shared)));
    for (name, test) in PLAIN {
        add(name.to_owned(), Box::new(test));
    }
    add("random".to_owned(), Box::new(|place| random(place, Linked::Shared, |_| {})));
    add("random_checked".to_owned(), Box::new(|place| random(place, Linked::Checked, |_| {})));
    let off = |program: &mut Command| {
        program.env("OVERTAKE", "off");
    };
    add("random_off".to_owned(), Box::new(move |place| random(place, Linked::Shared, off)));
    let drop_in = |program: &mut Command| {
        program.env("LD_PRELOAD", common::built("libovertake_preload.so"));
    };
    add("random_drop_in".to_owned(), Box::new(move |place| random(place, Linked::Shared, drop_in)));
    add("configuration".to_owned(), Box::new(|place| configuration(place, false)));
    add("configuration_of_the_drop_in".to_owned(), Box::new(|place| configuration(place, true)));
    add("messages".to_owned(), Box::new(|place| messages(place, false)));
    add("messages_of_the_drop_in".to_owned(), Box::new(|place| messages(place, true)));
    add("drop_in_shares_its_state".to_owned(), Box::new(|place| shared_state(place, false)));
    add("shadow_shares_its_state".to_owned(), Box::new(|place| shared_state(place, true)));
    trials
}
