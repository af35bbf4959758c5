//! Tests of the copy layer that need a process of their own.

mod messages;
mod queues;
mod refused;
