//! The launch of captured graphs: one operation of its stream, whose nodes keep their own order.

use hal::{CaptureMode, Code, Event, Graph, GraphExec, MemOp, Stream, WaitCondition};

use crate::failure::{Failure, Outcome, refused, same, same_bytes};
use crate::rig::Rig;

/// Captures the work that `body` submits to the stream, and makes it ready to be launched.
fn captured(rig: &Rig, stream: Stream, body: impl FnOnce() -> Outcome) -> Result<GraphExec, Failure> {
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    let outcome = body();
    let graph = rig.driver().stream_end_capture(stream)?;
    outcome?;
    let exec = rig.driver().graph_instantiate(graph);
    rig.driver().graph_destroy(graph)?;
    Ok(exec?)
}

/// Waits for the stream, and destroys the graph.
fn end(rig: &Rig, graph: GraphExec, stream: Stream) -> Outcome {
    rig.settle(stream)?;
    Ok(rig.driver().graph_exec_destroy(graph)?)
}

/// Copies, memsets, kernels and writes run at every launch, and read their sources anew.
pub fn all_kinds_run(rig: &Rig) -> Outcome {
    let (kernels, stream, other) = (rig.kernels()?, rig.stream()?, rig.stream()?);
    let (source, buffer, word) = (rig.pinned_of(&[9; 512])?, rig.buffer_of(&[1; 512])?, rig.word());
    let sink = rig.pinned(512)?;
    let graph = captured(rig, stream, || {
        rig.htod((buffer, 0), (&source, 0), 256, stream)?;
        rig.driver().memset_d8_async(buffer.at(256), 7, 128, stream)?;
        rig.dtod((buffer, 384), (buffer, 0), 64, stream)?;
        rig.launch_store(kernels.store, (buffer, 0), 0x0403_0201, stream)?;
        rig.launch_add(kernels.add, (buffer, 448), 5, stream)?;
        rig.dtoh((&sink, 0), (buffer, 0), 512, stream)?;
        rig.mark(stream, &word, 1)
    })?;
    rig.stays("a captured write", &word, 0)?;
    let mut expected = [[9; 256], [7; 256]].concat();
    for (round, launched_in) in [(0_u8, stream), (1, other), (2, other)] {
        source.write(0, &[9 + round; 512]);
        rig.launch_graph(graph, launched_in)?;
        rig.settle(launched_in)?;
        same("the captured write", &word.load(), &1)?;
        expected[..256].fill(9 + round);
        expected[384..448].fill(9 + round);
        expected[448..].fill(1);
        expected[..4].copy_from_slice(&[1, 2, 3, 4]);
        expected[448..452].copy_from_slice(&(0x0101_0101_u32 + 5 * (u32::from(round) + 1)).to_le_bytes());
        same_bytes("the device and the host", &sink.read_all(), &expected)?;
    }
    end(rig, graph, other)
}

/// A launch comes after earlier work of its stream and before later work.
pub fn launches_keep_their_stream_in_order(rig: &Rig) -> Outcome {
    const PART: u64 = 8 << 20;
    let (stream, source, target) = (rig.stream()?, rig.buffer(PART)?, rig.buffer(PART)?);
    let graph = captured(rig, stream, || Ok(rig.dtod((target, 0), (source, 0), PART, stream)?))?;
    let gate = rig.gate(stream)?;
    rig.driver().memset_d8_async(source.at(0), 5, PART, stream)?;
    rig.launch_graph(graph, stream)?;
    // Work of another kind, which would be done before the copy.
    rig.driver().memset_d8_async(source.at(0), 6, 1024, stream)?;
    rig.driver().memset_d8_async(target.at(4096), 7, 1024, stream)?;
    rig.held("a launch behind a gate", stream)?;
    gate.open();
    let bytes = rig.download(target, stream)?;
    same_bytes("the source before the launch", &bytes[..4096], &[5; 4096])?;
    same_bytes("the target after the launch", &bytes[4096..5120], &[7; 1024])?;
    end(rig, graph, stream)
}

/// Makes `stream` wait for the work in `other`, as a capture sees it.
fn follow(rig: &Rig, stream: Stream, other: Stream, event: Event) -> Outcome {
    rig.driver().event_record(event, other)?;
    Ok(rig.driver().stream_wait_event(stream, event)?)
}

/// Nodes of a forked stream come after those before the fork, and before those after the join.
pub fn fork_and_join(rig: &Rig) -> Outcome {
    let (origin, forked, buffer) = (rig.stream()?, rig.stream()?, rig.buffer(4 << 20)?);
    let (fork, join, part) = (rig.event()?, rig.event()?, 1 << 20);
    let graph = captured(rig, origin, || {
        rig.driver().memset_d8_async(buffer.at(0), 1, part, origin)?;
        follow(rig, forked, origin, fork)?;
        rig.dtod((buffer, part), (buffer, 0), part, forked)?;
        rig.dtod((buffer, 2 * part), (buffer, 0), part, origin)?;
        follow(rig, origin, forked, join)?;
        rig.driver().memset_d8_async(buffer.at(0), 2, part, origin)?;
        Ok(rig.dtod((buffer, 3 * part), (buffer, part), part, origin)?)
    })?;
    for _ in 0..3 {
        rig.driver().memset_d8_async(buffer.at(0), 9, 4 * part, origin)?;
        rig.launch_graph(graph, origin)?;
        let bytes = rig.download(buffer, origin)?;
        let parts: Vec<&[u8]> = bytes.chunks(part as usize).collect();
        same_bytes("set behind the join", parts[0], &vec![2; part as usize])?;
        parts[1..].iter().try_for_each(|copied| same_bytes("copied behind the fork", copied, parts[1]))?;
        same("copied behind the first set", &parts[1][0], &1)?;
    }
    end(rig, graph, origin)
}

/// A wait in a graph holds the rest of the graph and its stream, and no other stream.
pub fn a_wait_holds_its_graph(rig: &Rig) -> Outcome {
    let (stream, other) = (rig.stream()?, rig.stream()?);
    let (opens, inside, behind, beside) = (rig.word(), rig.word(), rig.word(), rig.word());
    let graph = captured(rig, stream, || {
        rig.driver().mem_op(stream, MemOp::wait32(opens.address, 1, WaitCondition::Geq))?;
        rig.mark(stream, &inside, 1)
    })?;
    rig.launch_graph(graph, stream)?;
    rig.mark(stream, &behind, 1)?;
    rig.mark(other, &beside, 1)?;
    rig.reaches("another stream", &beside, 1)?;
    let held = rig.stays("behind the wait", &inside, 0).and(rig.stays("behind the graph", &behind, 0));
    opens.store(1);
    rig.reaches("behind the graph", &behind, 1)?;
    held?;
    same("behind the wait", &inside.load(), &1)?;
    end(rig, graph, stream)
}

/// A graph never runs beside itself: a launch in another stream comes after the earlier one.
pub fn a_graph_follows_itself(rig: &Rig) -> Outcome {
    let (first, second, word) = (rig.stream()?, rig.stream()?, rig.word());
    let graph = captured(rig, first, || rig.mark(first, &word, 1))?;
    let gate = rig.gate(first)?;
    rig.launch_graph(graph, first)?;
    rig.launch_graph(graph, second)?;
    let held = rig.held("the second launch", second).and(rig.stays("its write", &word, 0));
    gate.open();
    rig.settle_all(&[first, second])?;
    held?;
    same("the write", &word.load(), &1)?;
    end(rig, graph, second)
}

/// A graph that is destroyed behind its launch runs all the same.
pub fn destroyed_under_way(rig: &Rig) -> Outcome {
    let (stream, word) = (rig.stream()?, rig.word());
    let graph = captured(rig, stream, || rig.mark(stream, &word, 1))?;
    let gate = rig.gate(stream)?;
    rig.launch_graph(graph, stream)?;
    let destroyed = rig.driver().graph_exec_destroy(graph);
    gate.open();
    rig.reaches("the write of a destroyed graph", &word, 1)?;
    Ok(destroyed?)
}

/// Null handles.
pub fn refusals(rig: &Rig) -> Outcome {
    let codes = &[Code::INVALID_VALUE, Code::INVALID_HANDLE];
    let stream = rig.stream()?;
    refused("instantiate", rig.driver().graph_instantiate(Graph(0)).map(drop), codes)?;
    refused("launch", rig.launch_graph(GraphExec(0), stream), codes)?;
    refused("destroy", rig.driver().graph_exec_destroy(GraphExec(0)), codes)
}
