//! Functions whose names say that something ends, and that have no hook, each with the reason. The handle of an ended
//! thing may be reused for another one, and freed memory must not be copied to or from. So every other function of this
//! kind is hooked, and a test fails for a name that is neither.

use crate::forward::FORWARDED;
use crate::rows::ROWS;

/// Words in names by which something ends.
const WORDS: &[&str] = &[
    "Close",
    "Complete",
    "Deregister",
    "Destroy",
    "Detach",
    "Disable",
    "Discard",
    "Disconnect",
    "End",
    "EndCapture",
    "Evict",
    "Finish",
    "Free",
    "Pop",
    "Release",
    "Remove",
    "Reset",
    "Restore",
    "Return",
    "Stop",
    "Trim",
    "Unbind",
    "Unload",
    "Unlock",
    "Unmap",
    "Unregister",
];

const NOT_HOOKED: &[(&str, &[&str])] = &[
    (
        "nothing ends: another context becomes current, which the layer asks at every call",
        &["cuCtxPopCurrent", "cuCtxPopCurrent_v2"],
    ),
    (
        "graphs are no launches: the layer knows executable ones alone, and keeps nothing of these",
        &[
            "cuGraphDestroy",
            "cuGraphDestroyNode",
            "cuGraphReleaseUserObject",
            "cuGraphRemoveDependencies",
            "cuGraphRemoveDependencies_v2",
            "cuUserObjectRelease",
            "cuGraphAddMemFreeNode",
            "cuGraphMemFreeNodeGetParams",
        ],
    ),
    (
        "a view of memory that another call frees: no copy names it",
        &["cuSurfObjectDestroy", "cuTexObjectDestroy", "cuTexRefDestroy"],
    ),
    ("an object of the compiler's on the host", &["cuLinkComplete", "cuLinkDestroy"]),
    (
        "a function of the program's that the driver calls no more",
        &[
            "cuCoredumpDeregisterCompleteCallback",
            "cuCoredumpDeregisterStartCallback",
            "cuCoredumpRegisterCompleteCallback",
            "cuDeviceUnregisterAsyncNotification",
            "cuLogsUnregisterCallback",
        ],
    ),
    ("a setting of caches or of a profiler", &["cuCtxResetPersistingL2Cache", "cuProfilerStop"]),
    (
        "of another API's resources in stream order: the copies before it are before it in its stream as well, and the \
         layer keeps no address",
        &[
            "cuEGLStreamConsumerDisconnect",
            "cuEGLStreamConsumerReleaseFrame",
            "cuEGLStreamProducerDisconnect",
            "cuEGLStreamProducerReturnFrame",
            "cuGLUnmapBufferObject",
            "cuGLUnmapBufferObjectAsync",
            "cuGLUnregisterBufferObject",
            "cuGraphicsUnmapResources",
            "cuGraphicsUnmapResources_ptsz",
        ],
    ),
    (
        "the driver locks, saves and brings back the whole process, ours included",
        &[
            "cuCheckpointOperationComplete",
            "cuCheckpointProcessGetRestoreThreadId",
            "cuCheckpointProcessRestore",
            "cuCheckpointProcessUnlock",
        ],
    ),
    (
        "an address of another host: the layer copies to none, and the driver frees no memory of this process",
        &["cuLogicalEndpointDestroy", "cuLogicalEndpointIdRelease", "cuLogicalEndpointUnbind"],
    ),
    ("of CUDA 2: an address of 32 bits, which no memory on a 64-bit host has", &["cuMemFree"]),
];

fn names_an_end(name: &str) -> bool {
    let ends_there = |at: usize| !name[at..].starts_with(|next: char| next.is_lowercase());
    WORDS.iter().any(|word| name.match_indices(word).any(|(at, _)| ends_there(at + word.len())))
}

fn is_listed(name: &str) -> bool {
    NOT_HOOKED.iter().any(|(_, names)| names.contains(&name))
}

#[test]
fn every_function_that_ends_something_is_hooked_or_has_a_reason() {
    let forwarded = FORWARDED.iter().map(|name| (name.to_str().expect("names are text"), false));
    let rows = ROWS.iter().filter(|row| row.hooked).map(|row| (row.symbol, true));
    let all: Vec<(&str, bool)> = forwarded.chain(rows).collect();
    for (name, is_hooked) in all.iter().filter(|(name, _)| names_an_end(name)) {
        assert!(*is_hooked != is_listed(name), "{name}: hooked {is_hooked}, with a reason {}", is_listed(name));
    }
    for (reason, names) in NOT_HOOKED {
        for name in *names {
            assert!(all.contains(&(name, false)) && names_an_end(name), "{name} ({reason})");
        }
    }
    let hooked = ["cuCtxDetach", "cuStreamEndCapture_ptsz", "cuMemFreeAsync", "cuMemUnmap", "cuGraphExecDestroy"];
    assert!(hooked.iter().all(|name| names_an_end(name) && all.contains(&(name, true))), "the words find them");
    assert!(!names_an_end("cuPointerGetAttribute") && !names_an_end("cuStreamCreate"));
}
