//! Tests of the emulations and of the bank in memory that a device sees.
#![cfg(not(loom))]

mod bank;
mod emulation;
mod memory;
