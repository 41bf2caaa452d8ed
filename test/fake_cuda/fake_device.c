/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the driver says of devices. */
#include "symm_config.h"

#include "fake_entry.h"
#include "fake_machine.h"
#include "fake_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The gpu of a device, -1 when there is none, which is told. */
static int checked_gpu(CUdevice dev)
{
    int gpu = fake_machine_gpu(dev);
    if (0 > gpu) {
        (void) fake_misuse(CUDA_SUCCESS, "there is no device %d", dev);
    }
    return gpu;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    *count = fake_machine_count();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (0 > checked_gpu(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult copy_text(const char *text, char *to, int room)
{
    if (NULL == to || 0 >= room) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no place for the text");
    }
    (void) snprintf(to, (size_t) room, "%s", text);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int gpu = checked_gpu(dev);
    return 0 > gpu ? CUDA_ERROR_INVALID_DEVICE
                   : copy_text(fake_machine_describe(gpu)->name, name, len);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int gpu = checked_gpu(dev);
    return 0 > gpu ? CUDA_ERROR_INVALID_DEVICE
                   : copy_text(fake_machine_describe(gpu)->bus, pciBusId, len);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int gpu = checked_gpu(dev);
    if (0 > gpu) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *bytes = fake_machine_describe(gpu)->memory;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int a = checked_gpu(dev);
    int b = checked_gpu(peerDev);
    if (0 > a || 0 > b) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *canAccessPeer = a != b && fake_machine_peers(a, b) ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int a = checked_gpu(srcDevice);
    int b = checked_gpu(dstDevice);
    if (0 > a || 0 > b || a == b) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED != attrib) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "the fake does not know attribute %d",
                           (int) attrib);
    }
    *value = fake_machine_atomics(a, b) ? 1 : 0;
    return CUDA_SUCCESS;
}

/* The number of an attribute, -1 when the fake does not have it. */
static int attribute_of(const fake_gpu_t *gpu, CUdevice_attribute attribute)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return gpu->multiprocessors;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        return gpu->vmm;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        return gpu->descriptors;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
        return gpu->fabric;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
        return 0;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 3;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        return (int) strtol(gpu->bus, NULL, 16);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return (int) strtol(gpu->bus + 5, NULL, 16);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        return (int) strtol(gpu->bus + 8, NULL, 16);
    default:
        return -1;
    }
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int gpu = checked_gpu(dev);
    if (0 > gpu) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    int value = attribute_of(fake_machine_describe(gpu), attrib);
    if (0 > value) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "the fake has no attribute %d", (int) attrib);
    }
    *pi = value;
    return CUDA_SUCCESS;
}
