//! The names that are exported for programs that link to the driver, and that only jump on: everything that the headers
//! of CUDA 11.8 to 13.5 declare and that no hook stands for. Names alone; the driver says what it has.

use std::ffi::CStr;

/// Hands the names to a macro.
macro_rules! for_each_forwarded {
    ($callback:ident) => {
        $callback! {
            cuArray3DCreate cuArray3DCreate_v2 cuArray3DGetDescriptor cuArray3DGetDescriptor_v2 cuArrayCreate
            cuArrayCreate_v2 cuArrayDestroy cuArrayGetDescriptor cuArrayGetDescriptor_v2 cuArrayGetMemoryRequirements
            cuArrayGetPlane cuArrayGetSparseProperties cuCheckpointOperationComplete cuCheckpointProcessCheckpoint
            cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
            cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpDeregisterCompleteCallback
            cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
            cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute
            cuCoredumpSetAttributeGlobal cuCtxAttach cuCtxCreate cuCtxCreate_v3 cuCtxDetach cuCtxDisablePeerAccess
            cuCtxEnablePeerAccess cuCtxFromGreenCtx cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent
            cuCtxGetDevResource cuCtxGetDevice cuCtxGetDevice_v2 cuCtxGetExecAffinity cuCtxGetFlags cuCtxGetId
            cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent cuCtxPopCurrent_v2
            cuCtxPushCurrent cuCtxPushCurrent_v2 cuCtxRecordEvent cuCtxResetPersistingL2Cache cuCtxSetCacheConfig
            cuCtxSetCurrent cuCtxSetFlags cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxWaitEvent cuDestroyExternalMemory
            cuDestroyExternalSemaphore cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount
            cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute cuDeviceGetByPCIBusId
            cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetCount cuDeviceGetDefaultMemPool
            cuDeviceGetDevResource cuDeviceGetExecAffinitySupport cuDeviceGetFabricClusterUuid
            cuDeviceGetGraphMemAttribute cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid cuDeviceGetMemPool
            cuDeviceGetName cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities cuDeviceGetP2PAttribute
            cuDeviceGetPCIBusId cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGetUuid
            cuDeviceGetUuid_v2 cuDeviceGraphMemTrim cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags
            cuDevicePrimaryCtxSetFlags_v2 cuDeviceRegisterAsyncNotification cuDeviceSetGraphMemAttribute
            cuDeviceSetMemPool cuDeviceTotalMem cuDeviceTotalMem_v2 cuDeviceUnregisterAsyncNotification
            cuDriverGetVersion cuEGLStreamConsumerAcquireFrame cuEGLStreamConsumerConnect
            cuEGLStreamConsumerConnectWithFlags cuEGLStreamConsumerDisconnect cuEGLStreamConsumerReleaseFrame
            cuEGLStreamProducerConnect cuEGLStreamProducerDisconnect cuEGLStreamProducerPresentFrame
            cuEGLStreamProducerReturnFrame cuEventCreate cuEventCreateFromEGLSync cuEventDestroy cuEventDestroy_v2
            cuEventElapsedTime cuEventElapsedTime_v2 cuExternalMemoryGetMappedBuffer
            cuExternalMemoryGetMappedMipmappedArray cuFabricCpyBatchAsync cuFabricCpyBatchAsync_ptsz
            cuFlushGPUDirectRDMAWrites cuFuncGetModule cuFuncGetName cuFuncGetParamCount cuFuncGetParamInfo
            cuFuncIsLoaded cuFuncSetBlockShape cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncSetSharedSize
            cuGLCtxCreate cuGLCtxCreate_v2 cuGLGetDevices cuGLGetDevices_v2 cuGLInit cuGLMapBufferObject
            cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2 cuGLMapBufferObjectAsync_v2_ptsz
            cuGLMapBufferObject_v2 cuGLMapBufferObject_v2_ptds cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags
            cuGLUnmapBufferObject cuGLUnmapBufferObjectAsync cuGLUnregisterBufferObject cuGetErrorName
            cuGetErrorString cuGetExportTable cuGraphAddBatchMemOpNode cuGraphAddChildGraphNode cuGraphAddDependencies
            cuGraphAddDependencies_v2 cuGraphAddEmptyNode cuGraphAddEventRecordNode cuGraphAddEventWaitNode
            cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode cuGraphAddHostNode
            cuGraphAddKernelNode cuGraphAddKernelNode_v2 cuGraphAddMemAllocNode cuGraphAddMemFreeNode
            cuGraphAddMemcpyNode cuGraphAddMemsetNode cuGraphAddNode cuGraphAddNode_v2 cuGraphAddNode_v3
            cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams cuGraphChildGraphNodeGetGraph cuGraphClone
            cuGraphConditionalHandleCreate cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy cuGraphDestroyNode
            cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent
            cuGraphEventWaitNodeSetEvent cuGraphExecBatchMemOpNodeSetParams cuGraphExecChildGraphNodeSetParams
            cuGraphExecDestroy cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
            cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
            cuGraphExecGetFlags cuGraphExecGetId cuGraphExecHostNodeSetParams cuGraphExecKernelNodeSetParams
            cuGraphExecKernelNodeSetParams_v2 cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams
            cuGraphExecNodeSetParams cuGraphExecUpdate cuGraphExecUpdate_v2
            cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
            cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetEdges
            cuGraphGetEdges_v2 cuGraphGetId cuGraphGetNodes cuGraphGetRootNodes cuGraphHostNodeGetParams
            cuGraphHostNodeSetParams cuGraphInstantiate cuGraphInstantiate_v2 cuGraphKernelNodeCopyAttributes
            cuGraphKernelNodeGetAttribute cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
            cuGraphKernelNodeSetAttribute cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2
            cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams cuGraphMemcpyNodeGetParams
            cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams cuGraphNodeFindInClone
            cuGraphNodeGetContainingGraph cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
            cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2 cuGraphNodeGetEnabled cuGraphNodeGetLocalId
            cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeGetType cuGraphNodeSetEnabled cuGraphNodeSetParams
            cuGraphNodeSetParams_v2 cuGraphReleaseUserObject cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
            cuGraphRetainUserObject cuGraphicsEGLRegisterImage cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage
            cuGraphicsMapResources cuGraphicsMapResources_ptsz cuGraphicsResourceGetMappedEglFrame
            cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer
            cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
            cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz
            cuGraphicsUnregisterResource cuGraphicsVDPAURegisterOutputSurface cuGraphicsVDPAURegisterVideoSurface
            cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent
            cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory cuImportExternalSemaphore
            cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle
            cuIpcOpenMemHandle_v2 cuKernelGetAttribute cuKernelGetLibrary cuKernelGetName cuKernelGetParamCount
            cuKernelGetParamInfo cuKernelSetAttribute cuKernelSetCacheConfig cuLaunch
            cuLaunchCooperativeKernelMultiDevice cuLaunchGrid cuLaunchGridAsync cuLaunchHostFunc cuLaunchHostFunc_ptsz
            cuLaunchHostFunc_v2 cuLaunchHostFunc_v2_ptsz cuLibraryEnumerateKernels cuLibraryGetGlobal
            cuLibraryGetKernel cuLibraryGetKernelCount cuLibraryGetManaged cuLibraryGetUnifiedFunction cuLinkAddData
            cuLinkAddData_v2 cuLinkAddFile cuLinkAddFile_v2 cuLinkComplete cuLinkCreate cuLinkCreate_v2 cuLinkDestroy
            cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate
            cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease
            cuLogicalEndpointIdReserve cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind
            cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback
            cuMemAddressFree cuMemAddressReserve cuMemAdvise cuMemAdvise_v2 cuMemAlloc cuMemAllocAsync
            cuMemAllocAsync_ptsz cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz cuMemAllocHost cuMemAllocPitch
            cuMemCreate cuMemExportToShareableHandle cuMemFree cuMemGetAccess cuMemGetAddressRange
            cuMemGetAddressRange_v2 cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle
            cuMemGetDefaultMemPool cuMemGetHandleForAddressRange cuMemGetInfo cuMemGetInfo_v2 cuMemGetLocationInfo
            cuMemGetMemPool cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2 cuMemHostGetFlags
            cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemPoolCreate
            cuMemPoolDestroy cuMemPoolExportPointer cuMemPoolExportToShareableHandle cuMemPoolGetAccess
            cuMemPoolGetAttribute cuMemPoolImportFromShareableHandle cuMemPoolImportPointer cuMemPoolSetAccess
            cuMemPoolSetAttribute cuMemPoolTrimTo cuMemRangeGetAttribute cuMemRangeGetAttributes cuMemRelease
            cuMemRetainAllocationHandle cuMemSetAccess cuMemSetMemPool cuMemUnmap cuMemcpy2D cuMemcpy2DAsync
            cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DWithAttributesAsync
            cuMemcpy3DWithAttributesAsync_ptsz cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA
            cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD
            cuMemcpyHtoDAsync cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz cuMemsetD16 cuMemsetD2D16
            cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8 cuMipmappedArrayCreate cuMipmappedArrayDestroy
            cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
            cuModuleEnumerateFunctions cuModuleGetFunctionCount cuModuleGetGlobal cuModuleGetLoadingMode
            cuModuleGetSurfRef cuModuleGetTexRef cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindAddr_v2
            cuMulticastBindMem cuMulticastBindMem_v2 cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind
            cuOccupancyAvailableDynamicSMemPerBlock cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
            cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
            cuOccupancyMaxPotentialClusterSize cuParamSetSize cuParamSetTexRef cuParamSetf cuParamSeti cuParamSetv
            cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuProfilerInitialize cuProfilerStart
            cuProfilerStop cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz cuStreamAddCallback
            cuStreamAddCallback_ptsz cuStreamAttachMemAsync cuStreamAttachMemAsync_ptsz cuStreamBatchMemOp
            cuStreamBatchMemOp_ptsz cuStreamBatchMemOp_v2 cuStreamBatchMemOp_v2_ptsz cuStreamCopyAttributes
            cuStreamCopyAttributes_ptsz cuStreamEndCaptureToCig cuStreamEndCaptureToCig_ptsz cuStreamGetAttribute
            cuStreamGetAttribute_ptsz cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz cuStreamGetCaptureInfo_v2
            cuStreamGetCaptureInfo_v2_ptsz cuStreamGetCaptureInfo_v3 cuStreamGetCaptureInfo_v3_ptsz cuStreamGetCtx
            cuStreamGetCtx_ptsz cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz cuStreamGetDevResource
            cuStreamGetDevResource_ptsz cuStreamGetDevice cuStreamGetDevice_ptsz cuStreamGetFlags
            cuStreamGetFlags_ptsz cuStreamGetGreenCtx cuStreamGetId cuStreamGetId_ptsz cuStreamGetPriority
            cuStreamGetPriority_ptsz cuStreamIsCapturing cuStreamIsCapturing_ptsz cuStreamSetAttribute
            cuStreamSetAttribute_ptsz cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz
            cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz cuStreamWaitValue32
            cuStreamWaitValue32_ptsz cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz cuStreamWaitValue64
            cuStreamWaitValue64_ptsz cuStreamWaitValue64_v2 cuStreamWaitValue64_v2_ptsz cuStreamWriteValue32
            cuStreamWriteValue32_ptsz cuStreamWriteValue32_v2 cuStreamWriteValue32_v2_ptsz cuStreamWriteValue64
            cuStreamWriteValue64_ptsz cuStreamWriteValue64_v2 cuStreamWriteValue64_v2_ptsz cuSurfObjectCreate
            cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuSurfRefGetArray cuSurfRefSetArray
            cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress
            cuTensorMapSetAllocationClass cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
            cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddress
            cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode
            cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode
            cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress
            cuTexRefSetAddress2D cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode
            cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags
            cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
            cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray cuThreadExchangeStreamCaptureMode cuUserObjectCreate
            cuUserObjectRelease cuUserObjectRetain cuVDPAUCtxCreate cuVDPAUCtxCreate_v2 cuVDPAUGetDevice
            cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz
        }
    };
}
pub(crate) use for_each_forwarded;

macro_rules! names {
    ($($symbol:ident)*) => {
        /// The forwarded names, in the order of their numbers.
        pub static FORWARDED: [&CStr; COUNT] = [$(name(concat!(stringify!($symbol), "\0"))),*];
        const COUNT: usize = [$(stringify!($symbol)),*].len();
    };
}
for_each_forwarded! { names }

const fn name(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the macro ends every name with its one NUL"),
    }
}
