"""JAX: device_put and device_get in a loop, beside large transfers in both directions."""

import jax
import jax.numpy as jnp
import numpy

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

result = Result("jax")
device = jax.devices()[0]
bulk, small = known_bytes(BULK_BYTES, 1), known_bytes(SMALL_BYTES, 2)


@jax.jit
def changed(values, number):
    return jnp.bitwise_xor(values, number.astype(jnp.uint8))


def loop():
    """Large arrays are put and left to arrive while small ones go there and back."""
    arriving, smalls = [], []
    for turn in range(12):
        arriving.append(jax.device_put(bulk, device))
        there = changed(jax.device_put(small, device), jnp.uint32(turn))
        there.copy_to_host_async()
        smalls.append(there)
    for turn, there in enumerate(smalls):
        result.digest(f"small {turn}", jax.device_get(there))
    result.digest("large sum", jax.device_get(sum(changed(there, jnp.uint32(7))[::1021] for there in arriving)))
    result.digest("large back", jax.device_get(changed(arriving[3], jnp.uint32(9))))


def pinned_host_memory():
    """Explicit transfers between pinned host memory and the device, where this JAX has that memory kind."""
    kinds = {memory.kind for memory in device.addressable_memories()}
    if "pinned_host" not in kinds:
        result.value("pinned_host", "absent")
        return
    host = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
    near = jax.sharding.SingleDeviceSharding(device, memory_kind="device")
    large, little = jax.device_put(bulk, host), jax.device_put(small, host)
    for turn in range(6):
        large_there, little_there = jax.device_put(large, near), jax.device_put(little, near)
        little_back = jax.device_put(changed(little_there, jnp.uint32(turn)), host)
        result.digest(f"pinned little {turn}", numpy.asarray(little_back))
        large = jax.device_put(changed(large_there, jnp.uint32(turn)), host)
    result.digest("pinned large", numpy.asarray(large))


def work():
    loop()
    pinned_host_memory()


phases(result, work)
