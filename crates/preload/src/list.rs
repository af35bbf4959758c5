// The one list of exported entry points, hooked or only forwarded. Exports, lookups and tests are expanded from it. It
// has no module documentation, because the tests include this file as it is.

/// The one list of driver functions, after older prototypes with which programs are still linked. The list lacks those
/// because no code of ours calls them, but hooks must not miss them.
macro_rules! for_each_row {
    ($callback:ident) => {
        abi::for_each_driver_function! { $callback,
            [context cuDevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease,
                "cuDevicePrimaryCtxRelease", 7000, Plain, optional; (dev: CUdevice)]
            [context cuDevicePrimaryCtxReset = cuDevicePrimaryCtxReset,
                "cuDevicePrimaryCtxReset", 7000, Plain, optional; (dev: CUdevice)]
            [context cuCtxDestroy = cuCtxDestroy, "cuCtxDestroy", 2000, Plain, optional; (ctx: CUcontext)]
            [context cuCtxAttach = cuCtxAttach, "cuCtxAttach", 2000, Plain, optional;
                (pctx: *mut CUcontext, flags: c_uint)]
            [context cuCtxDetach = cuCtxDetach, "cuCtxDetach", 2000, Plain, optional; (ctx: CUcontext)]
            [stream cuStreamDestroy = cuStreamDestroy, "cuStreamDestroy", 2000, Plain, optional; (h_stream: CUstream)]
            [stream cuStreamBeginCapture = cuStreamBeginCapture, "cuStreamBeginCapture", 10000, Plain, optional;
                (h_stream: CUstream)]
            [stream cuStreamBeginCapture_ptsz = cuStreamBeginCapture, "cuStreamBeginCapture", 10000, Ptsz, optional;
                (h_stream: CUstream)]
            [stream cuStreamBeginCaptureToCig = cuStreamBeginCaptureToCig,
                "cuStreamBeginCaptureToCig", 13010, Plain, optional; (h_stream: CUstream, params: *mut c_void)]
            [stream cuStreamBeginCaptureToCig_ptsz = cuStreamBeginCaptureToCig,
                "cuStreamBeginCaptureToCig", 13010, Ptsz, optional; (h_stream: CUstream, params: *mut c_void)]
            [stream cuStreamBeginRecaptureToGraph = cuStreamBeginRecaptureToGraph,
                "cuStreamBeginRecaptureToGraph", 13030, Plain, optional;
                (h_stream: CUstream, mode: CUstreamCaptureMode, h_graph: CUgraph, callback: *mut c_void,
                 user_data: *mut c_void)]
            [stream cuStreamBeginRecaptureToGraph_ptsz = cuStreamBeginRecaptureToGraph,
                "cuStreamBeginRecaptureToGraph", 13030, Ptsz, optional;
                (h_stream: CUstream, mode: CUstreamCaptureMode, h_graph: CUgraph, callback: *mut c_void,
                 user_data: *mut c_void)]
            [module cuLibraryLoadData = cuLibraryLoadData, "cuLibraryLoadData", 12000, Plain, optional;
                (library: *mut *mut c_void, code: *const c_void, jit_options: *mut CUjit_option,
                 jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void,
                 count: c_uint)]
            [module cuLibraryLoadFromFile = cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000, Plain, optional;
                (library: *mut *mut c_void, name: *const c_char, jit_options: *mut CUjit_option,
                 jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_uint, values: *mut *mut c_void,
                 count: c_uint)]
            [module cuLibraryUnload = cuLibraryUnload, "cuLibraryUnload", 12000, Plain, optional;
                (library: *mut c_void)]
            [module cuLibraryGetModule = cuLibraryGetModule, "cuLibraryGetModule", 12000, Plain, optional;
                (module: *mut CUmodule, library: *mut c_void)]
            [module cuKernelGetFunction = cuKernelGetFunction, "cuKernelGetFunction", 12000, Plain, optional;
                (function: *mut CUfunction, kernel: *mut c_void)]
            [module cuFuncLoad = cuFuncLoad, "cuFuncLoad", 12040, Plain, optional; (function: CUfunction)]
            [module cuLaunch = cuLaunch, "cuLaunch", 2000, Plain, optional; (function: CUfunction)]
            [module cuLaunchGrid = cuLaunchGrid, "cuLaunchGrid", 2000, Plain, optional;
                (function: CUfunction, grid_width: c_int, grid_height: c_int)]
            [module cuLaunchGridAsync = cuLaunchGridAsync, "cuLaunchGridAsync", 2000, Plain, optional;
                (function: CUfunction, grid_width: c_int, grid_height: c_int, h_stream: CUstream)]
            [module cuLaunchHostFunc_v2 = cuLaunchHostFunc_v2, "cuLaunchHostFunc", 13020, Plain, optional;
                (h_stream: CUstream, function: *mut c_void, user_data: *mut c_void, mode: c_uint)]
            [module cuLaunchHostFunc_v2_ptsz = cuLaunchHostFunc_v2, "cuLaunchHostFunc", 13020, Ptsz, optional;
                (h_stream: CUstream, function: *mut c_void, user_data: *mut c_void, mode: c_uint)]
            [graph cuGraphInstantiateWithParams = cuGraphInstantiateWithParams,
                "cuGraphInstantiateWithParams", 12000, Plain, optional;
                (graph_exec: *mut CUgraphExec, graph: CUgraph, parameters: *mut c_void)]
            [graph cuGraphInstantiateWithParams_ptsz = cuGraphInstantiateWithParams,
                "cuGraphInstantiateWithParams", 12000, Ptsz, optional;
                (graph_exec: *mut CUgraphExec, graph: CUgraph, parameters: *mut c_void)]
            [graph cuGraphUpload = cuGraphUpload, "cuGraphUpload", 11010, Plain, optional;
                (graph_exec: CUgraphExec, h_stream: CUstream)]
            [graph cuGraphUpload_ptsz = cuGraphUpload, "cuGraphUpload", 11010, Ptsz, optional;
                (graph_exec: CUgraphExec, h_stream: CUstream)]
            [stream cuStreamEndCaptureToCig = cuStreamEndCaptureToCig,
                "cuStreamEndCaptureToCig", 13010, Plain, optional; (h_stream: CUstream)]
            [stream cuStreamEndCaptureToCig_ptsz = cuStreamEndCaptureToCig,
                "cuStreamEndCaptureToCig", 13010, Ptsz, optional; (h_stream: CUstream)]
            [event cuEventDestroy = cuEventDestroy, "cuEventDestroy", 2000, Plain, optional; (h_event: CUevent)]
            [context cuGreenCtxDestroy = cuGreenCtxDestroy, "cuGreenCtxDestroy", 12040, Plain, optional;
                (green: *mut c_void)]
            [memory cuArrayDestroy = cuArrayDestroy, "cuArrayDestroy", 2000, Plain, optional; (array: *mut c_void)]
            [memory cuMipmappedArrayDestroy = cuMipmappedArrayDestroy,
                "cuMipmappedArrayDestroy", 5000, Plain, optional; (array: *mut c_void)]
            [memory cuMemUnmap = cuMemUnmap, "cuMemUnmap", 10020, Plain, optional; (start: CUdeviceptr, bytes: usize)]
            [memory cuMemRelease = cuMemRelease, "cuMemRelease", 10020, Plain, optional; (memory: c_ulonglong)]
            [memory cuMemAddressFree = cuMemAddressFree, "cuMemAddressFree", 10020, Plain, optional;
                (start: CUdeviceptr, bytes: usize)]
            [memory cuMemPoolDestroy = cuMemPoolDestroy, "cuMemPoolDestroy", 11020, Plain, optional;
                (pool: CUmemoryPool)]
            [memory cuMemPoolTrimTo = cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020, Plain, optional;
                (pool: CUmemoryPool, bytes: usize)]
            [memory cuDeviceGraphMemTrim = cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040, Plain, optional;
                (dev: CUdevice)]
            [memory cuIpcCloseMemHandle = cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, Plain, optional;
                (start: CUdeviceptr)]
            [memory cuMulticastUnbind = cuMulticastUnbind, "cuMulticastUnbind", 12010, Plain, optional;
                (object: c_ulonglong, dev: CUdevice, offset: usize, bytes: usize)]
            [memory cuGraphicsUnregisterResource = cuGraphicsUnregisterResource,
                "cuGraphicsUnregisterResource", 3000, Plain, optional; (resource: *mut c_void)]
            [memory cuMemHostRegister = cuMemHostRegister, "cuMemHostRegister", 4000, Plain, optional;
                (p: *mut c_void, bytesize: usize, flags: c_uint)]
        }
    };
}

/// The hooked functions, by the module with their handlers, and by the kind of the exported function. A `called`
/// function knows its return address, which rules by library need, and has at most four arguments; a `direct` one does
/// not know it. All functions of these nouns are hooked; those without a handler are counted.
macro_rules! for_each_room {
    ($callback:ident) => {
        $callback! {
            ($)
            nouns: copy set memop;
            copy called: cuMemcpy cuMemcpyAsync cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoD_v2
                cuMemcpyHtoDAsync_v2;
            shape called: cuMemcpy2D_v2 cuMemcpy2DAsync_v2 cuMemcpy2DUnaligned_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2;
            batch direct: cuMemcpyBatchAsync cuMemcpyBatchAsync_v2;
            address direct: cuGetProcAddress cuGetProcAddress_v2;
            life direct: cuArrayDestroy cuCtxAttach cuCtxCreate_v2 cuCtxCreate_v4 cuCtxDestroy cuCtxDestroy_v2
                cuCtxDetach cuCtxDisablePeerAccess cuCtxSynchronize cuCtxSynchronize_v2 cuDestroyExternalMemory
                cuDeviceGraphMemTrim cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset
                cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain cuEventDestroy cuEventDestroy_v2 cuEventQuery
                cuEventRecord cuEventRecordWithFlags cuEventSynchronize cuFuncLoad cuGraphInstantiateWithFlags
                cuGraphInstantiateWithParams cuGraphUpload cuGraphicsUnregisterResource cuGreenCtxDestroy cuInit
                cuIpcCloseMemHandle cuKernelGetFunction cuLibraryGetModule cuLibraryLoadData cuLibraryLoadFromFile
                cuLibraryUnload cuMemAddressFree cuMemAllocHost_v2 cuMemAllocManaged cuMemAllocPitch_v2 cuMemAlloc_v2
                cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemHostAlloc cuMemHostRegister cuMemHostRegister_v2
                cuMemHostUnregister cuMemPoolDestroy cuMemPoolTrimTo cuMemRelease cuMemUnmap cuMipmappedArrayDestroy
                cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx
                cuModuleLoadFatBinary cuModuleUnload cuMulticastUnbind cuStreamBeginCapture cuStreamBeginCaptureToCig
                cuStreamBeginCaptureToGraph cuStreamBeginCapture_v2 cuStreamBeginRecaptureToGraph cuStreamCreate
                cuStreamCreateWithPriority cuStreamDestroy cuStreamDestroy_v2 cuStreamEndCapture
                cuStreamEndCaptureToCig cuStreamQuery cuStreamSynchronize cuStreamWaitEvent;
            launch direct: cuFuncGetAttribute cuFuncSetAttribute cuGraphExecDestroy cuGraphLaunch cuLaunch
                cuLaunchCooperativeKernel cuLaunchGrid cuLaunchGridAsync cuLaunchKernel cuLaunchKernelEx
                cuOccupancyMaxActiveBlocksPerMultiprocessor;
            observed direct: cuLaunchHostFunc cuLaunchHostFunc_v2 cuStreamAddCallback cuStreamAttachMemAsync;
        }
    };
}

/// The names that are exported only because programs are linked to them: every function in the headers of CUDA 11.8 to
/// 13.5 that has no hook. The driver knows which of them it has.
macro_rules! for_each_forwarded {
    ($callback:ident) => {
        $callback! {
            cuArray3DCreate cuArray3DCreate_v2 cuArray3DGetDescriptor cuArray3DGetDescriptor_v2 cuArrayCreate
            cuArrayCreate_v2 cuArrayGetDescriptor cuArrayGetDescriptor_v2 cuArrayGetMemoryRequirements cuArrayGetPlane
            cuArrayGetSparseProperties cuCheckpointOperationComplete cuCheckpointProcessCheckpoint
            cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
            cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpDeregisterCompleteCallback
            cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
            cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute
            cuCoredumpSetAttributeGlobal cuCtxCreate cuCtxCreate_v3 cuCtxEnablePeerAccess cuCtxFromGreenCtx
            cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevResource cuCtxGetDevice cuCtxGetDevice_v2
            cuCtxGetExecAffinity cuCtxGetFlags cuCtxGetId cuCtxGetLimit cuCtxGetSharedMemConfig
            cuCtxGetStreamPriorityRange cuCtxPopCurrent cuCtxPopCurrent_v2 cuCtxPushCurrent cuCtxPushCurrent_v2
            cuCtxRecordEvent cuCtxResetPersistingL2Cache cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetFlags cuCtxSetLimit
            cuCtxSetSharedMemConfig cuCtxWaitEvent cuDevResourceGenerateDesc cuDevSmResourceSplit
            cuDevSmResourceSplitByCount cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute
            cuDeviceGetByPCIBusId cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetCount
            cuDeviceGetDefaultMemPool cuDeviceGetDevResource cuDeviceGetExecAffinitySupport cuDeviceGetFabricClusterUuid
            cuDeviceGetGraphMemAttribute cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid cuDeviceGetMemPool
            cuDeviceGetName cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities cuDeviceGetP2PAttribute
            cuDeviceGetPCIBusId cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGetUuid
            cuDeviceGetUuid_v2 cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
            cuDeviceRegisterAsyncNotification cuDeviceSetGraphMemAttribute cuDeviceSetMemPool cuDeviceTotalMem
            cuDeviceTotalMem_v2 cuDeviceUnregisterAsyncNotification cuDriverGetVersion cuEGLStreamConsumerAcquireFrame
            cuEGLStreamConsumerConnect cuEGLStreamConsumerConnectWithFlags cuEGLStreamConsumerDisconnect
            cuEGLStreamConsumerReleaseFrame cuEGLStreamProducerConnect cuEGLStreamProducerDisconnect
            cuEGLStreamProducerPresentFrame cuEGLStreamProducerReturnFrame cuEventCreate cuEventCreateFromEGLSync
            cuEventElapsedTime cuEventElapsedTime_v2 cuExternalMemoryGetMappedBuffer
            cuExternalMemoryGetMappedMipmappedArray cuFabricCpyBatchAsync cuFabricCpyBatchAsync_ptsz
            cuFlushGPUDirectRDMAWrites cuFuncGetModule cuFuncGetName cuFuncGetParamCount cuFuncGetParamInfo
            cuFuncIsLoaded cuFuncSetBlockShape cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncSetSharedSize
            cuGLCtxCreate cuGLCtxCreate_v2 cuGLGetDevices cuGLGetDevices_v2 cuGLInit cuGLMapBufferObject
            cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2 cuGLMapBufferObjectAsync_v2_ptsz cuGLMapBufferObject_v2
            cuGLMapBufferObject_v2_ptds cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags cuGLUnmapBufferObject
            cuGLUnmapBufferObjectAsync cuGLUnregisterBufferObject cuGetErrorName cuGetErrorString cuGetExportTable
            cuGraphAddBatchMemOpNode cuGraphAddChildGraphNode cuGraphAddDependencies cuGraphAddDependencies_v2
            cuGraphAddEmptyNode cuGraphAddEventRecordNode cuGraphAddEventWaitNode cuGraphAddExternalSemaphoresSignalNode
            cuGraphAddExternalSemaphoresWaitNode cuGraphAddHostNode cuGraphAddKernelNode cuGraphAddKernelNode_v2
            cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddMemcpyNode cuGraphAddMemsetNode cuGraphAddNode
            cuGraphAddNode_v2 cuGraphAddNode_v3 cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
            cuGraphChildGraphNodeGetGraph cuGraphClone cuGraphConditionalHandleCreate cuGraphCreate cuGraphDebugDotPrint
            cuGraphDestroy cuGraphDestroyNode cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent
            cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent cuGraphExecBatchMemOpNodeSetParams
            cuGraphExecChildGraphNodeSetParams cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
            cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
            cuGraphExecGetFlags cuGraphExecGetId cuGraphExecHostNodeSetParams cuGraphExecKernelNodeSetParams
            cuGraphExecKernelNodeSetParams_v2 cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams
            cuGraphExecNodeSetParams cuGraphExecUpdate cuGraphExecUpdate_v2 cuGraphExternalSemaphoresSignalNodeGetParams
            cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
            cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetEdges cuGraphGetEdges_v2 cuGraphGetId cuGraphGetNodes
            cuGraphGetRootNodes cuGraphHostNodeGetParams cuGraphHostNodeSetParams cuGraphInstantiate
            cuGraphInstantiate_v2 cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute
            cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetAttribute
            cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2 cuGraphMemAllocNodeGetParams
            cuGraphMemFreeNodeGetParams cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams
            cuGraphMemsetNodeSetParams cuGraphNodeFindInClone cuGraphNodeGetContainingGraph cuGraphNodeGetDependencies
            cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2
            cuGraphNodeGetEnabled cuGraphNodeGetLocalId cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeGetType
            cuGraphNodeSetEnabled cuGraphNodeSetParams cuGraphNodeSetParams_v2 cuGraphReleaseUserObject
            cuGraphRemoveDependencies cuGraphRemoveDependencies_v2 cuGraphRetainUserObject cuGraphicsEGLRegisterImage
            cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage cuGraphicsMapResources cuGraphicsMapResources_ptsz
            cuGraphicsResourceGetMappedEglFrame cuGraphicsResourceGetMappedMipmappedArray
            cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags
            cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources
            cuGraphicsUnmapResources_ptsz cuGraphicsVDPAURegisterOutputSurface cuGraphicsVDPAURegisterVideoSurface
            cuGreenCtxCreate cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate
            cuGreenCtxWaitEvent cuImportExternalMemory cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle
            cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuKernelGetAttribute cuKernelGetLibrary cuKernelGetName
            cuKernelGetParamCount cuKernelGetParamInfo cuKernelSetAttribute cuKernelSetCacheConfig
            cuLaunchCooperativeKernelMultiDevice cuLibraryEnumerateKernels cuLibraryGetGlobal cuLibraryGetKernel
            cuLibraryGetKernelCount cuLibraryGetManaged cuLibraryGetUnifiedFunction cuLinkAddData cuLinkAddData_v2
            cuLinkAddFile cuLinkAddFile_v2 cuLinkComplete cuLinkCreate cuLinkCreate_v2 cuLinkDestroy
            cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate
            cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease
            cuLogicalEndpointIdReserve cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind
            cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback
            cuMemAddressReserve cuMemAdvise cuMemAdvise_v2 cuMemAlloc cuMemAllocAsync cuMemAllocAsync_ptsz
            cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz cuMemAllocHost cuMemAllocPitch cuMemCreate
            cuMemExportToShareableHandle cuMemFree cuMemGetAccess cuMemGetAddressRange cuMemGetAddressRange_v2
            cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemGetDefaultMemPool
            cuMemGetHandleForAddressRange cuMemGetInfo cuMemGetInfo_v2 cuMemGetLocationInfo cuMemGetMemPool
            cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2 cuMemHostGetFlags cuMemImportFromShareableHandle
            cuMemMap cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemPoolCreate cuMemPoolExportPointer
            cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolGetAttribute cuMemPoolImportFromShareableHandle
            cuMemPoolImportPointer cuMemPoolSetAccess cuMemPoolSetAttribute cuMemRangeGetAttribute
            cuMemRangeGetAttributes cuMemRetainAllocationHandle cuMemSetAccess cuMemSetMemPool cuMemcpy2D
            cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DWithAttributesAsync
            cuMemcpy3DWithAttributesAsync_ptsz cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA
            cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD
            cuMemcpyHtoDAsync cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz cuMemsetD16 cuMemsetD2D16
            cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8 cuMipmappedArrayCreate cuMipmappedArrayGetLevel
            cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties cuModuleEnumerateFunctions
            cuModuleGetFunctionCount cuModuleGetGlobal cuModuleGetLoadingMode cuModuleGetSurfRef cuModuleGetTexRef
            cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2
            cuMulticastCreate cuMulticastGetGranularity cuOccupancyAvailableDynamicSMemPerBlock
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cuOccupancyMaxActiveClusters
            cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
            cuOccupancyMaxPotentialClusterSize cuParamSetSize cuParamSetTexRef cuParamSetf cuParamSeti cuParamSetv
            cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuProfilerInitialize cuProfilerStart
            cuProfilerStop cuStreamCopyAttributes cuStreamCopyAttributes_ptsz cuStreamGetAttribute
            cuStreamGetAttribute_ptsz cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz cuStreamGetCaptureInfo_v2
            cuStreamGetCaptureInfo_v2_ptsz cuStreamGetCaptureInfo_v3 cuStreamGetCaptureInfo_v3_ptsz cuStreamGetCtx
            cuStreamGetCtx_ptsz cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz cuStreamGetDevResource
            cuStreamGetDevResource_ptsz cuStreamGetDevice cuStreamGetDevice_ptsz cuStreamGetFlags cuStreamGetFlags_ptsz
            cuStreamGetGreenCtx cuStreamGetId cuStreamGetId_ptsz cuStreamGetPriority cuStreamGetPriority_ptsz
            cuStreamIsCapturing cuStreamIsCapturing_ptsz cuStreamSetAttribute cuStreamSetAttribute_ptsz
            cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz
            cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz cuSurfObjectCreate
            cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuSurfRefGetArray cuSurfRefSetArray cuTensorMapEncodeIm2col
            cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress cuTensorMapSetAllocationClass
            cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
            cuTexObjectGetTextureDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddress cuTexRefGetAddressMode
            cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags
            cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
            cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress cuTexRefSetAddress2D
            cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2
            cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat
            cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp
            cuTexRefSetMipmappedArray cuThreadExchangeStreamCaptureMode cuUserObjectCreate cuUserObjectRelease
            cuUserObjectRetain cuVDPAUCtxCreate cuVDPAUCtxCreate_v2 cuVDPAUGetDevice
        }
    };
}
