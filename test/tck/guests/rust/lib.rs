//! The Rust guest of the conformance kit: see test/tck/README.md.

use core::sync::atomic::{AtomicU32, Ordering};
use drawbridge_sdk::{abi, auth_expired, json::Value, steps::*, Context, Failure, Tool};

type Output = Result<Value, Failure>;

static CALLS: AtomicU32 = AtomicU32::new(0);

const TOOLS: &[Tool] = &[
    ("tck.echo", echo),
    ("tck.context", context),
    ("tck.read", read_all),
    ("tck.act", act),
    ("tck.shot", picture),
    ("tck.fetch", fetch),
    ("tck.progress", progress),
    ("tck.expired", expired),
];

#[no_mangle]
pub extern "C" fn call() -> i32 {
    drawbridge_sdk::call(TOOLS)
}

#[no_mangle]
pub extern "C" fn describe() -> i32 {
    drawbridge_sdk::describe(TOOLS)
}

fn object(members: Vec<(&str, Value)>) -> Output {
    Ok(Value::Object(members.into_iter().map(|(k, v)| (k.into(), v)).collect()))
}

fn text_of(s: &str) -> Value {
    Value::String(s.into())
}

fn number(n: i64) -> Value {
    Value::Number(format!("{}", n))
}

fn echo(_: &mut Context, args: &Value) -> Output {
    object(vec![("text", Value::String(args.field("text")))])
}

fn context(ctx: &mut Context, _: &Value) -> Output {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    object(vec![
        ("now", number(ctx.now())),
        ("locale", text_of(ctx.locale())),
        ("base_url", text_of(ctx.setting("base_url"))),
        ("missing", text_of(ctx.setting("missing"))),
        ("calls", number(calls as i64)),
    ])
}

fn read_all(ctx: &mut Context, _: &Value) -> Output {
    let res = ctx.read(vec![
        navigate("/issues?q=ż", "#issues"),
        wait(".spinner", abi::STATE_DETACHED),
        extract("rows", list("tr", vec![int_attr("id", "", "data-id"), text("title", "td")])),
        exists("more", "a.next"),
        page("page"),
        html("html", "main", 1000),
        snapshot("tree", "main", 1000),
    ])?;
    object(vec![("rows", Value::List(res.rows("rows")?))])
}

fn act(ctx: &mut Context, args: &Value) -> Output {
    let body: String = args.field("text");
    ctx.act(vec![
        fill("#body", &body),
        select("#state", "closed"),
        check("#notify", true),
        press("#body", "Tab"),
        click("#send", "#flash"),
    ])?;
    object(vec![])
}

fn picture(ctx: &mut Context, _: &Value) -> Output {
    let res = ctx.screenshot(vec![shot("picture", "#chart")])?;
    object(vec![("picture", res.value("picture")?.clone())])
}

fn fetch(ctx: &mut Context, _: &Value) -> Output {
    let req = abi::FetchRequest { method: "GET".into(), path: "/api".into(), parse: abi::PARSE_TEXT.into(), ..Default::default() };
    let a = ctx.fetch(req)?;
    object(vec![("status", number(a.status)), ("text", text_of(&a.text))])
}

fn progress(ctx: &mut Context, args: &Value) -> Output {
    ctx.progress(1.0, 2.0, "half");
    let line: String = args.field("text");
    ctx.log(&line);
    object(vec![])
}

fn expired(_: &mut Context, _: &Value) -> Output {
    Err(auth_expired("signed out"))
}
