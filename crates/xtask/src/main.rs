//! Chores of the repository.

fn main() {
    eprintln!("usage: cargo xtask codegen | tidy");
}
