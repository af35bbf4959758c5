//! A program that copies, under the drop-in as cargo has built it for this test, on the software GPU.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::written::Place;
use crate::common::Folder;

/// Copies 1 MiB to the device, again and again, until its input ends.
const SOURCE: &str = "
#include <poll.h>
#include <stdio.h>
typedef unsigned long long address;
int cuInit(unsigned), cuDeviceGet(int *, int), cuCtxCreate_v2(void **, unsigned, int);
int cuMemAlloc_v2(address *, size_t), cuMemHostAlloc(void **, size_t, unsigned), cuStreamCreate(void **, unsigned);
int cuMemcpyHtoDAsync_v2(address, const void *, size_t, void *), cuStreamSynchronize(void *);
int main(void)
{
    int device;
    void *context, *host, *stream;
    address memory;
    struct pollfd input = {0, POLLIN, 0};
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v2(&context, 0, device) ||
        cuMemAlloc_v2(&memory, 1 << 20) || cuMemHostAlloc(&host, 1 << 20, 0) || cuStreamCreate(&stream, 1))
        return 1;
    puts(\"up\");
    fflush(stdout);
    do {
        if (cuMemcpyHtoDAsync_v2(memory, host, 1 << 20, stream) || cuStreamSynchronize(stream))
            return 2;
    } while (poll(&input, 1, 1) == 0);
    return 0;
}
";

pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
}

fn built(name: &str) -> PathBuf {
    let library = std::env::current_exe().unwrap().parent().unwrap().join(name);
    assert!(library.exists(), "{} is missing", library.display());
    library
}

impl Program {
    /// Starts it, and returns when its context is there.
    pub fn new(folder: &Folder, place: &Place, environment: &[(&str, &str)]) -> Program {
        let (source, program) = (folder.path().join("copier.c"), folder.path().join("copier"));
        std::fs::write(&source, SOURCE).unwrap();
        let soft = folder.path().join("libcuda.so.1");
        let _it_is_there = std::os::unix::fs::symlink(built("libcuda.so"), &soft);
        let output = Command::new("gcc").arg("-o").arg(&program).arg(&source).arg(&soft).output().expect("gcc");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", folder.path()).env("LD_PRELOAD", built("libovertake_preload.so"));
        command.env("XDG_RUNTIME_DIR", place.path()).envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let input = child.stdin.take();
        Program { child, input }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The number of its threads.
    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap().count()
    }

    /// Lets it come to its end.
    pub fn end(&mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _status = self.child.wait();
    }
}
