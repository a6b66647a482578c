//! What a drawbridge connector in Rust imports: no dependency, and alloc without std.
//!
//! A tool is a function of a [`Context`] and the call's arguments, which returns a
//! result or an error as data. The connector exports `call` and `describe`, which
//! hand its list of tools to the functions of that name here.
#![no_std]

extern crate alloc;

pub mod abi {
    //! Generated from package abi: `go generate ./abi/sdk/gen`.
    include!("abi.gen.rs");
}
mod host;
pub mod json;
pub mod steps;

use abi::{Answer, CallInput, CallOutput, Description, ErrorData, FetchAnswer, FetchRequest, Program, ProgressReport, Step};
use alloc::{boxed::Box, format, string::String, string::ToString, vec, vec::Vec};
use json::{parse, to_string, Read, Value};

/// A failure, as it goes to the caller.
pub type Failure = Box<ErrorData>;

/// A tool: its name, "connector.tool", and what it does.
pub type Tool = (&'static str, fn(&mut Context, &Value) -> Result<Value, Failure>);

/// Serves one call.
pub fn call(tools: &[Tool]) -> i32 {
    let v = parse(&host::input()).unwrap_or_default();
    let mut ctx = Context::new(CallInput::read(&v));
    let mut out = CallOutput::default();
    match run(tools, &mut ctx) {
        Ok(result) => {
            out.ok = true;
            out.result = result;
        }
        Err(e) => out.error = Some(e),
    }
    host::output(&to_string(&out));
    0
}

fn run(tools: &[Tool], ctx: &mut Context) -> Result<Value, Failure> {
    if ctx.input.v != abi::VERSION {
        let message = format!("this module speaks version {} of the ABI, not {}", abi::VERSION, ctx.input.v);
        return Err(fail(abi::ERR_INTERNAL, &message));
    }
    let args = ctx.input.args.clone();
    match tools.iter().find(|t| t.0 == ctx.input.tool) {
        Some(t) => t.1(ctx, &args),
        None => Err(fail(abi::ERR_INVALID_ARGS, &format!("no tool {:?} in this module", ctx.input.tool))),
    }
}

/// Tells which tools there are.
pub fn describe(tools: &[Tool]) -> i32 {
    let mut names: Vec<String> = tools.iter().map(|t| t.0.to_string()).collect();
    names.sort();
    host::output(&to_string(&Description { v: abi::VERSION, tools: names }));
    0
}

/// An error of a code.
pub fn fail(code: &str, message: &str) -> Failure {
    Box::new(ErrorData { code: code.into(), message: message.into(), hint: String::new() })
}
pub fn auth_expired(message: &str) -> Failure {
    fail(abi::ERR_AUTH_EXPIRED, message)
}
pub fn forbidden(message: &str) -> Failure {
    fail(abi::ERR_FORBIDDEN, message)
}
pub fn not_found(message: &str) -> Failure {
    fail(abi::ERR_NOT_FOUND, message)
}
pub fn drift(message: &str) -> Failure {
    fail(abi::ERR_SELECTOR_DRIFT, message)
}
pub fn invalid_args(message: &str) -> Failure {
    fail(abi::ERR_INVALID_ARGS, message)
}

/// One tool call.
pub struct Context {
    pub input: CallInput,
    state: u64,
}

impl Context {
    fn new(input: CallInput) -> Self {
        let state = input.seed as u64;
        Self { input, state }
    }

    /// When the call began, in milliseconds of Unix time. It does not advance.
    pub fn now(&self) -> i64 {
        self.input.now
    }
    pub fn locale(&self) -> &str {
        &self.input.locale
    }
    pub fn setting(&self, name: &str) -> &str {
        self.input.settings.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }
    pub fn log(&self, message: &str) {
        host::log(message);
    }

    /// A number of a generator seeded with the call (SplitMix64). Not for secrets.
    pub fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Each of these is one trip.
    pub fn read(&self, steps: Vec<Step>) -> Result<Answer, Failure> {
        answer(&host::read(&program(steps)))
    }
    pub fn act(&self, steps: Vec<Step>) -> Result<Answer, Failure> {
        answer(&host::act(&program(steps)))
    }
    pub fn screenshot(&self, steps: Vec<Step>) -> Result<Answer, Failure> {
        answer(&host::screenshot(&program(steps)))
    }

    /// One request to the connector's own origin. A status of 400 and above is no failure.
    pub fn fetch(&self, mut req: FetchRequest) -> Result<FetchAnswer, Failure> {
        req.v = abi::VERSION;
        let a = FetchAnswer::read(&parse(&host::fetch(&to_string(&req))).unwrap_or_default());
        if a.ok {
            return Ok(a);
        }
        Err(reason(a.error))
    }

    /// A courtesy: failures are ignored.
    pub fn progress(&self, done: f64, total: f64, message: &str) {
        host::progress(&to_string(&ProgressReport { v: abi::VERSION, done, total, message: message.into() }));
    }

    pub fn navigate(&self, path: &str) -> Result<Answer, Failure> {
        self.read(vec![steps::navigate(path, "")])
    }
    pub fn wait_for(&self, selector: &str) -> Result<Answer, Failure> {
        self.read(vec![steps::wait(selector, "")])
    }
}

fn program(steps: Vec<Step>) -> String {
    to_string(&Program { v: abi::VERSION, steps })
}

fn answer(text: &str) -> Result<Answer, Failure> {
    let a = Answer::read(&parse(text).unwrap_or_default());
    if a.ok {
        return Ok(a);
    }
    Err(reason(a.error))
}

fn reason(e: Option<Failure>) -> Failure {
    e.unwrap_or_else(|| fail(abi::ERR_INTERNAL, "the host gave no reason"))
}

impl Answer {
    /// What a step brought under its name; an absent one is the connector's fault.
    pub fn value(&self, name: &str) -> Result<&Value, Failure> {
        let found = self.data.iter().find(|(k, _)| k == name);
        found.map(|(_, v)| v).ok_or_else(|| fail(abi::ERR_INVALID_RESULT, &format!("no step {:?} in this trip", name)))
    }

    /// The rows of an extract step, each as an object with its columns.
    pub fn rows(&self, name: &str) -> Result<Vec<Value>, Failure> {
        Ok(rows_of(self.value(name)?))
    }
}

/// The rows of a table, such as FetchAnswer.table or a nested column.
pub fn rows_of(table: &Value) -> Vec<Value> {
    let t = abi::Table::read(table);
    let object = |row: Vec<Value>| Value::Object(t.cols.iter().cloned().zip(row).collect());
    t.rows.into_iter().map(object).collect()
}
