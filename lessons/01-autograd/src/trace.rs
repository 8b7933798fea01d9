//! The tape, written out line by line: the first thing to print when a gradient is wrong.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use crate::backward::order_from;
use crate::real::Real;
use crate::tensor::Tensor;

/// One line of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the operation; `"leaf"` for a parameter.
    pub operation: &'static str,
    /// Shape of its result.
    pub shape: Vec<usize>,
    /// Line numbers of its inputs; `None` for constants.
    pub inputs: Vec<Option<usize>>,
    /// Number of uses by later lines.
    pub uses: usize,
}

/// A whole tape, inputs before consumers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace(pub Vec<Entry>);

impl Trace {
    /// The tape that leads to `output`; empty for a constant.
    pub fn of<T: Real>(output: &Tensor<T>) -> Self {
        let order = output.node.as_ref().map(order_from).unwrap_or_default();
        let lines: HashMap<_, _> = order
            .iter()
            .enumerate()
            .map(|(line, node)| (Rc::as_ptr(node), line))
            .collect();
        let mut entries: Vec<Entry> = Vec::with_capacity(order.len());
        for node in &order {
            let inputs: Vec<_> = node
                .inputs
                .iter()
                .map(|input| input.as_ref().map(|i| lines[&Rc::as_ptr(i)]))
                .collect();
            for &line in inputs.iter().flatten() {
                entries[line].uses += 1;
            }
            entries.push(Entry {
                operation: node.name,
                shape: node.shape.clone(),
                inputs,
                uses: 0,
            });
        }
        Self(entries)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, entry) in self.0.iter().enumerate() {
            let name = |input: &Option<usize>| input.map_or("constant".to_string(), |line| format!("#{line}"));
            let inputs: Vec<_> = entry.inputs.iter().map(name).collect();
            let call = format!("{}({})", entry.operation, inputs.join(", "));
            writeln!(
                f,
                "#{line:<3} {call:<28} {:<12} used {}x",
                format!("{:?}", entry.shape),
                entry.uses
            )?;
        }
        Ok(())
    }
}
