//! Modules and kernels: the built-in ones exist on every driver.

use hal::{Code, Function, Launch, Nanos};
use testkit::fixture::attempt;

use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::place::Buffer;
use crate::rig::Rig;

/// Adds of many launches on many streams all arrive.
pub fn atomic_add(rig: &Rig) -> Outcome {
    let (kernels, streams) = (rig.kernels()?, rig.streams(5)?);
    let counter = rig.buffer_of(&1_000_u32.to_le_bytes().repeat(4))?;
    for round in 0..40 {
        for stream in &streams {
            rig.launch_add(kernels.add, (counter, 4), 3, *stream)?;
            rig.launch_add(kernels.add, (counter, 8), if round % 2 == 0 { -7 } else { 2 }, *stream)?;
        }
    }
    rig.settle_all(&streams)?;
    let expected: Vec<u8> =
        [1_000, 1_000 + 200 * 3, 1_000 - 100 * 5, 1_000].into_iter().flat_map(i32::to_le_bytes).collect();
    same_bytes("the counters", &rig.download(counter, streams[0])?, &expected)
}

/// Stores act in stream order, in device memory and in mapped host memory.
pub fn store(rig: &Rig) -> Outcome {
    let (kernels, stream, word) = (rig.kernels()?, rig.stream()?, rig.word());
    let buffer = rig.buffer_of(&[0xff; 64])?;
    let mapped = Buffer { base: word.address, bytes: 8 };
    rig.launch_store(kernels.store, (buffer, 8), 0x0403_0201, stream)?;
    rig.dtod((buffer, 16), (buffer, 8), 4, stream)?;
    rig.launch_store(kernels.store, (buffer, 8), 0, stream)?;
    rig.launch_store(kernels.store, (mapped, 0), 17, stream)?;
    rig.reaches("the mapped word", &word, 17)?;
    let mut expected = vec![0xff; 64];
    expected[8..12].fill(0);
    expected[16..20].copy_from_slice(&[1, 2, 3, 4]);
    same_bytes("the device", &rig.download(buffer, stream)?, &expected)
}

/// A spin lasts at least its span, on the host's clock.
pub fn spin(rig: &Rig) -> Outcome {
    let (kernels, stream) = (rig.kernels()?, rig.stream()?);
    let before = rig.driver().host().now();
    rig.launch_spin(kernels.spin, 3_000_000, stream)?;
    // Unless this thread itself was delayed for that long.
    let is_over = rig.driver().stream_query(stream)?;
    let looked = rig.driver().host().now().since(before);
    ensure!(!is_over || looked >= Nanos::from_us(2_900), "3 ms of spinning are over after {looked}");
    rig.driver().stream_synchronize(stream)?;
    let took = rig.driver().host().now().since(before);
    ensure!(took >= Nanos::from_us(2_900), "3 ms of spinning took {took}");
    let is_virtual = rig.driver().host().is_virtual();
    ensure!(!is_virtual || took <= Nanos::from_ms(500), "3 ms of spinning took {took}");
    Ok(())
}

/// Kernels of different streams run side by side.
pub fn concurrent(rig: &Rig) -> Outcome {
    const SPAN_NS: u64 = 20_000_000;
    let (kernels, streams) = (rig.kernels()?, rig.streams(4)?);
    let mut quickest = Nanos::MAX;
    // Once is proof enough: on a busy machine the host may be slower than the kernels, but never faster.
    for _ in 0..5 {
        let before = rig.driver().host().now();
        for stream in &streams {
            rig.launch_spin(kernels.spin, SPAN_NS, *stream)?;
        }
        rig.settle_all(&streams)?;
        quickest = quickest.min(rig.driver().host().now().since(before));
        if quickest < Nanos(3 * SPAN_NS) {
            break;
        }
    }
    ensure!(quickest < Nanos(3 * SPAN_NS), "4 spins of 20 ms side by side took {quickest}");
    Ok(())
}

/// A launch waits for earlier work of its stream, and later work waits for the launch.
pub fn stream_order(rig: &Rig) -> Outcome {
    let (kernels, stream) = (rig.kernels()?, rig.stream()?);
    let (source, buffer) = (rig.pinned_of(&5_u32.to_le_bytes())?, rig.buffer_of(&[0; 16])?);
    let gate = rig.gate(stream)?;
    for _ in 0..10 {
        rig.htod((buffer, 0), (&source, 0), 4, stream)?;
        rig.launch_add(kernels.add, (buffer, 0), 1, stream)?;
        rig.dtod((buffer, 4), (buffer, 0), 4, stream)?;
        rig.launch_add(kernels.add, (buffer, 4), 10, stream)?;
        rig.dtod((buffer, 8), (buffer, 4), 4, stream)?;
    }
    gate.open();
    let expected: Vec<u8> = [6_u32, 16, 16, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    same_bytes("the counters", &rig.download(buffer, stream)?, &expected)
}

/// Kernels that are not in the module are not found.
pub fn unknown_function(rig: &Rig) -> Outcome {
    let kernels = rig.kernels()?;
    for name in ["soft_noop_", "soft", "no such kernel"] {
        refused(name, rig.driver().module_function(kernels.module, name), &[Code::NOT_FOUND])?;
    }
    let again = rig.driver().module_function(kernels.module, "soft_noop")?;
    same("the same kernel twice", &again, &kernels.noop)
}

/// Images that are neither PTX nor a binary.
pub fn bad_images(rig: &Rig) -> Outcome {
    let broken = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry soft_noop( { ret }";
    let loaded = rig.driver().module_load(b"this is no kernel\0");
    refused("neither PTX nor a cubin", loaded, &[Code::INVALID_IMAGE])?;
    refused("broken PTX", rig.driver().module_load(broken.as_bytes()), &[Code::INVALID_PTX])
}

/// Launches of impossible shape.
pub fn bad_launches(rig: &Rig) -> Outcome {
    let (driver, kernels, stream) = (rig.driver(), rig.kernels()?, rig.stream()?);
    let (grid, block) = ([1; 3], [1; 3]);
    let good = Launch { function: kernels.noop, grid, block, shared_bytes: 0, stream, parameters: &[] };
    let codes = &[Code::INVALID_VALUE];
    let launch = Launch { grid: [0, 1, 1], ..good };
    refused("no blocks", attempt::launch(driver, &launch), codes)?;
    let launch = Launch { block: [1, 0, 1], ..good };
    refused("no threads", attempt::launch(driver, &launch), codes)?;
    let launch = Launch { block: [1_025, 1, 1], ..good };
    refused("too many threads", attempt::launch(driver, &launch), codes)?;
    let launch = Launch { shared_bytes: 1 << 30, ..good };
    refused("too much shared memory", attempt::launch(driver, &launch), codes)?;
    let launch = Launch { function: Function(0), ..good };
    refused("no kernel", attempt::launch(driver, &launch), &[Code::INVALID_HANDLE])?;
    attempt::launch(driver, &good)?;
    rig.settle(stream)
}

/// Grids and blocks of every dimension run, and act once per launch.
pub fn shapes(rig: &Rig) -> Outcome {
    let (driver, kernels, stream) = (rig.driver(), rig.kernels()?, rig.stream()?);
    for (grid, block) in [([1_000, 1, 1], [1_024, 1, 1]), ([3, 5, 7], [8, 4, 2]), ([1, 1, 64], [1, 1, 64])] {
        let launch = Launch { function: kernels.noop, grid, block, shared_bytes: 1_024, stream, parameters: &[] };
        attempt::launch(driver, &launch)?;
    }
    rig.settle(stream)
}

/// The text of the built-in kernels can be loaded more than once.
pub fn load_twice(rig: &Rig) -> Outcome {
    let (first, second) = (rig.kernels()?, rig.kernels()?);
    ensure!(first.module != second.module, "two loads give two modules");
    let (stream, buffer) = (rig.stream()?, rig.buffer_of(&[0; 16])?);
    rig.launch_add(first.add, (buffer, 0), 1, stream)?;
    rig.launch_add(second.add, (buffer, 0), 2, stream)?;
    same_bytes("both add", &rig.download(buffer, stream)?[..4], &3_u32.to_le_bytes())
}

/// A module with global variables and no kernel.
const GLOBALS: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .global .align 8 .b8 board[24];\n.visible .global .u32 flag;\n";

/// Global variables begin as zeroes and can be copied to and from. Their memory is the module's.
pub fn globals(rig: &Rig) -> Outcome {
    let (driver, stream, module) = (rig.driver(), rig.stream()?, rig.module(GLOBALS.as_bytes())?);
    let (base, bytes) = driver.module_global(module, "board")?;
    same("the bytes of the board", &bytes, &24)?;
    let (flag, flag_bytes) = driver.module_global(module, "flag")?;
    same("the bytes of the flag", &flag_bytes, &4)?;
    ensure!(flag.0 + 4 <= base.0 || base.0 + 24 <= flag.0, "{flag:?} lies in {base:?}");
    let board = Buffer { base, bytes };
    same_bytes("the board at first", &rig.download(board, stream)?, &[0; 24])?;
    rig.htod_now((board, 8), &[7; 8])?;
    // The call may return while the bytes are on their way, and the other stream does not wait for them.
    driver.context_synchronize()?;
    let expected: Vec<u8> = [0, 7, 0].into_iter().flat_map(|byte| [byte; 8]).collect();
    same_bytes("the board", &rig.download(board, stream)?, &expected)?;
    same("the same variable twice", &driver.module_global(module, "board")?, &(base, bytes))?;
    refused("memory of a module", driver.mem_free(base), &[Code::INVALID_VALUE])
}

/// Variables that are not in the module are not found.
pub fn unknown_global(rig: &Rig) -> Outcome {
    let module = rig.module(GLOBALS.as_bytes())?;
    for name in ["boar", "board ", "soft_noop"] {
        refused(name, rig.driver().module_global(module, name), &[Code::NOT_FOUND])?;
    }
    let (driver, kernels) = (rig.driver(), rig.kernels()?);
    refused("nothing", driver.module_global(kernels.module, "board"), &[Code::NOT_FOUND])?;
    refused("a kernel", driver.module_global(kernels.module, "soft_noop"), &[Code::INVALID_VALUE])
}

/// The sizes of the parameters that a kernel declares.
pub fn parameters(rig: &Rig) -> Outcome {
    let (driver, kernels) = (rig.driver(), rig.kernels()?);
    for (name, function, wanted) in
        [("noop", kernels.noop, &[][..]), ("spin", kernels.spin, &[8]), ("add", kernels.add, &[8, 4])]
    {
        same(name, &driver.function_parameters(function)?, &wanted.to_vec())?;
    }
    let nothing = driver.function_parameters(Function(0));
    refused("no kernel", nothing, &[Code::INVALID_HANDLE, Code::INVALID_VALUE])
}
