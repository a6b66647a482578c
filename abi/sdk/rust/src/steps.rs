//! Steps and extraction schemas, made by name. What each does stands in [`crate::abi`].

use crate::abi::*;
use alloc::{boxed::Box, string::String, vec::Vec};

fn step(op: &str, selector: &str) -> Step {
    Step { op: op.into(), selector: selector.into(), ..Step::default() }
}

fn named(op: &str, name: &str, selector: &str, max: i64) -> Step {
    Step { as_: name.into(), max, ..step(op, selector) }
}

/// Goes to a path under the base URL; wait is a selector that has to match then.
pub fn navigate(path: &str, wait: &str) -> Step {
    Step { path: path.into(), wait: wait.into(), ..step(OP_NAVIGATE, "") }
}
pub fn wait(selector: &str, state: &str) -> Step {
    Step { state: state.into(), ..step(OP_WAIT, selector) }
}
pub fn extract(name: &str, schema: Extraction) -> Step {
    Step { schema: Some(Box::new(schema)), ..named(OP_EXTRACT, name, "", 0) }
}
pub fn exists(name: &str, selector: &str) -> Step {
    named(OP_EXISTS, name, selector, 0)
}
pub fn page(name: &str) -> Step {
    named(OP_PAGE, name, "", 0)
}
pub fn html(name: &str, selector: &str, max: i64) -> Step {
    named(OP_HTML, name, selector, max)
}
pub fn snapshot(name: &str, selector: &str, max: i64) -> Step {
    named(OP_SNAPSHOT, name, selector, max)
}
pub fn shot(name: &str, selector: &str) -> Step {
    named(OP_SCREENSHOT, name, selector, 0)
}
pub fn click(selector: &str, wait: &str) -> Step {
    Step { wait: wait.into(), ..step(OP_CLICK, selector) }
}
pub fn fill(selector: &str, value: &str) -> Step {
    Step { value: value.into(), ..step(OP_FILL, selector) }
}
pub fn select(selector: &str, value: &str) -> Step {
    Step { value: value.into(), ..step(OP_SELECT, selector) }
}
pub fn check(selector: &str, checked: bool) -> Step {
    Step { checked, ..step(OP_CHECK, selector) }
}
pub fn press(selector: &str, key: &str) -> Step {
    Step { key: key.into(), ..step(OP_PRESS, selector) }
}

/// One row for each match of rows, or, without them, one for the page.
pub fn list(rows: &str, cols: Vec<Col>) -> Extraction {
    Extraction { rows: rows.into(), cols, ..Extraction::default() }
}
pub fn fields(cols: Vec<Col>) -> Extraction {
    list("", cols)
}

fn col(name: &str, selector: &str, kind: &str, typ: &str) -> Col {
    Col { name: name.into(), selector: selector.into(), kind: kind.into(), type_: typ.into(), ..Col::default() }
}
pub fn text(name: &str, selector: &str) -> Col {
    col(name, selector, "", "")
}
pub fn lines(name: &str, selector: &str) -> Col {
    col(name, selector, KIND_LINES, "")
}
pub fn raw(name: &str, selector: &str) -> Col {
    col(name, selector, KIND_RAW, "")
}
pub fn int(name: &str, selector: &str) -> Col {
    col(name, selector, "", TYPE_INT)
}
pub fn attr(name: &str, selector: &str, attr: &str) -> Col {
    Col { attr: String::from(attr), ..col(name, selector, KIND_ATTR, "") }
}
pub fn int_attr(name: &str, selector: &str, attr: &str) -> Col {
    Col { attr: String::from(attr), ..col(name, selector, KIND_ATTR, TYPE_INT) }
}
pub fn url(name: &str, selector: &str) -> Col {
    col(name, selector, KIND_URL, "")
}
/// The texts of all matches, which may be none.
pub fn texts(name: &str, selector: &str) -> Col {
    Col { list: true, optional: true, ..text(name, selector) }
}
pub fn nested(name: &str, schema: Extraction) -> Col {
    Col { nested: Some(Box::new(schema)), ..col(name, "", KIND_NESTED, "") }
}
/// Null where nothing matches, in place of selector_drift.
pub fn optional(c: Col) -> Col {
    Col { optional: true, ..c }
}
