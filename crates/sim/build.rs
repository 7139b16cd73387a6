//! The papers are embedded in the library; a change there must rebuild it.

fn main() {
    println!("cargo::rerun-if-changed=../../papers");
}
