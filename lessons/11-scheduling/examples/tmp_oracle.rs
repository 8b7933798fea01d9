#[path = "../tests/suite/oracle.rs"]
mod oracle;
fn main() {}
