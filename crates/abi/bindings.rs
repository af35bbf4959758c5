// The generation of the types; `build.rs` and `cargo xtask codegen` both include this file.

/// Types and constants by name. bindgen adds the types that they refer to.
const TYPES: &[&str] = &[
    "cudaError_enum",
    "CU(device|deviceptr|context|stream|event|module|function|array|mipmappedArray|memoryPool|greenCtx|uuid)",
    "CU(graph|graphNode|graphExec|graphNodeType|graphEdgeData|graphInstantiate_flags)",
    "CU(device|pointer|function|mem_range)_attribute",
    "CUdevice_P2PAttribute",
    "CUctx_flags|CUctxCreateParams|CUlimit",
    "CUstream_flags|CUevent_flags|CUevent_record_flags|CUevent_wait_flags",
    "CUstreamCaptureMode|CUstreamCaptureStatus|CUstreamCallback|CUhostFn",
    "CUstreamWaitValue_flags|CUstreamWriteValue_flags|CUstreamBatchMemOpType|CUstreamBatchMemOpParams",
    "CUstreamMemoryBarrier_flags",
    "CUmemorytype|CUmemAttach_flags|CUmem_advise|CUmemLocation|CUmemDecompressParams",
    "CUDA_MEMCPY2D|CUDA_MEMCPY3D|CUDA_MEMCPY3D_PEER|CUDA_MEMCPY3D_BATCH_OP|CUmemcpyAttributes|CUmemcpyFlags",
    "CUmemcpySrcAccessOrder",
    "CUexternal(Memory|MemoryHandleType|Semaphore|SemaphoreHandleType)",
    "CUDA_EXTERNAL_MEMORY_(HANDLE|BUFFER)_DESC",
    "CUDA_EXTERNAL_SEMAPHORE_(HANDLE_DESC|SIGNAL_PARAMS|WAIT_PARAMS)",
    "CUjit_option|CUjit_target|CUlaunchConfig",
    "CUdriverProcAddress_flags|CUdriverProcAddressQueryResult",
    "cuuint32_t|cuuint64_t",
];

/// Macros that are plain numbers.
const CONSTANTS: &[&str] =
    &["CUDA_VERSION", "CU_MEMHOST(ALLOC|REGISTER)_.*", "CU_IPC_HANDLE_SIZE", "CUDA_EXTERNAL_MEMORY_DEDICATED"];

/// The bindings of the header in `include`, as bindgen is to make them.
fn bindings(include: &std::path::Path, clang_arguments: &[String]) -> bindgen::Builder {
    let mut builder = bindgen::Builder::default()
        .header(include.join("cuda.h").display().to_string())
        .clang_arg(format!("-I{}", include.display()))
        // Shows the entry points of every ABI under their export names instead of the newest under plain ones.
        .clang_arg("-D__CUDA_API_VERSION_INTERNAL")
        .clang_args(clang_arguments)
        .with_codegen_config(bindgen::CodegenConfig::TYPES | bindgen::CodegenConfig::VARS)
        .disable_header_comment()
        .use_core()
        .generate_comments(false)
        .layout_tests(true)
        .prepend_enum_name(false)
        .default_enum_style(bindgen::EnumVariation::Consts)
        // A Rust enum that receives a number of a newer driver would be undefined behaviour.
        .newtype_enum("cudaError_enum")
        .formatter(bindgen::Formatter::None);
    for name in TYPES {
        builder = builder.allowlist_type(name);
    }
    for name in CONSTANTS {
        builder = builder.allowlist_var(name);
    }
    builder
}
