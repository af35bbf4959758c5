//! A linker for an older glibc than this machine's: that of Zig, which pip has as a wheel.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::failed;
use crate::wheels;

/// The wheel of the compiler.
const ZIG_WHEEL: &str = "ziglang==0.17.1";
/// The glibc for which it links: that of RHEL 8, Debian 10 and Ubuntu 20.04 and later.
const GLIBC: &str = "2.28";

/// The program that links. It hands the system's libgcc_s over as a file: Zig would put an unwinder of its own into
/// each library, and no exception of C++ could pass through frames of Rust. Zig does not know the option that hides the
/// names of the ends of a section, so `libovertake.so` exports two of them more; they are protected, so each library
/// keeps its own.
const SCRIPT: &str = "\
#!/bin/sh
for word do
  shift
  case $word in
    -Wl,-z,start-stop-visibility=*) ;;
    -lgcc_s) set -- \"$@\" \"$(gcc -print-file-name=libgcc_s.so.1)\" ;;
    *) set -- \"$@\" \"$word\" ;;
  esac
done
exec '@ZIG@' cc -target x86_64-linux-gnu.@GLIBC@ -Wl,--allow-shlib-undefined \"$@\"
";

/// Fetches Zig into `folder`, unless it is there, and writes a program there that links as `cc` does. The error tells
/// why Zig cannot be fetched.
pub fn linker(folder: &Path) -> Result<PathBuf, String> {
    let zig = match wheels::find_folder(folder, "zig") {
        Some(found) => found.join("zig"),
        None => wheels::fetch_file(folder, &[ZIG_WHEEL], "zig")?.join("zig"),
    };
    let program = folder.join("cc"); // rustc knows by this name what arguments it takes
    let text = SCRIPT.replace("@ZIG@", &zig.display().to_string()).replace("@GLIBC@", GLIBC);
    std::fs::write(&program, text).map_err(|error| failed(&program, &error))?;
    for file in [&zig, &program] {
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file, permissions).map_err(|error| failed(file, &error))?;
    }
    Ok(program)
}
