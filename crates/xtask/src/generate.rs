//! The part of `codegen` that needs bindgen: types, and the header's own prototypes of the listed functions.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use abi::{FUNCTIONS, Flavour, Function};

use crate::Outcome;
use crate::codegen::FILES;

include!("../../abi/bindings.rs");

/// Writes both files into `folder`.
pub fn run(include: &Path, folder: &Path) -> Outcome {
    let arguments = clang_arguments();
    write(folder, FILES[0], &types(include, &arguments)?)?;
    write(folder, FILES[1], &prototypes(include, &arguments)?)?;
    Ok(String::new())
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}\n"))
}

/// libclang comes without headers of its own, but gcc's serve as well.
fn clang_arguments() -> Vec<String> {
    let output = Command::new("gcc").arg("-print-file-name=include").output();
    let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if folder.is_empty() { Vec::new() } else { vec![format!("-I{folder}")] }
}

fn types(include: &Path, arguments: &[String]) -> Result<String, String> {
    let bindings = bindings(include, arguments).generate().map_err(|error| format!("cuda.h: {error}\n"))?;
    Ok(format!("// Generated from cuda.h of CUDA 13.0 by `cargo xtask codegen`. Do not edit.\n\n{bindings}"))
}

/// The header's name for the prototype of a row: `cudaTypedefs.h` has one for each name, version and flavour.
fn typedef(function: &Function) -> String {
    let flavour = match function.flavour {
        Flavour::Plain => "",
        Flavour::Ptds => "_ptds",
        Flavour::Ptsz => "_ptsz",
    };
    format!("PFN_{}_v{}{flavour}", function.base, function.version)
}

fn prototypes(include: &Path, arguments: &[String]) -> Result<String, String> {
    let mut builder = bindgen::Builder::default()
        .header(include.join("cudaTypedefs.h").display().to_string())
        .clang_arg(format!("-I{}", include.display()))
        .clang_args(arguments)
        .disable_header_comment()
        .use_core()
        .generate_comments(false)
        .allowlist_recursively(false)
        .formatter(bindgen::Formatter::None);
    for function in FUNCTIONS {
        builder = builder.allowlist_type(typedef(function));
    }
    let bindings = builder.generate().map_err(|error| format!("cudaTypedefs.h: {error}\n"))?;
    let mut text = format!(
        "// Generated from cudaTypedefs.h of CUDA 13.0 by `cargo xtask codegen`. Do not edit.\n\n\
         use crate::types::*;\n\n{bindings}\n\
         // The prototype of each symbol of the list: the one for its name, version and flavour.\n\
         pub mod of {{\n"
    );
    for function in FUNCTIONS {
        writeln!(text, "pub type {} = super::{};", function.symbol, typedef(function))
            .map_err(|error| error.to_string())?;
    }
    text += "}\n";
    Ok(text)
}
