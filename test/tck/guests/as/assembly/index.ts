// The AssemblyScript guest of the conformance kit: see test/tck/README.md.
import { Context, Handler, Kind, Value, Writer, abi, call as serve, describe as tell, steps, tool } from "../../../../../abi/sdk/as/assembly/index";

class Args {
  text: string = "";
  read(v: Value): void {
    const text = v.get("text");
    if (text !== null) this.text = text.str();
  }
}

let calls: i64 = 0;

function number(n: i64): Value {
  const v = new Value(Kind.Number);
  v.text = n.toString();
  return v;
}

function echo(ctx: Context, input: Args): Value | null {
  const out = new Value();
  out.set("text", Value.string(input.text));
  return out;
}

function context(ctx: Context, input: Args): Value | null {
  calls++;
  const out = new Value();
  out.set("now", number(ctx.now()));
  out.set("locale", Value.string(ctx.locale()));
  out.set("base_url", Value.string(ctx.setting("base_url")));
  out.set("missing", Value.string(ctx.setting("missing")));
  out.set("calls", number(calls));
  return out;
}

function read(ctx: Context, input: Args): Value | null {
  const res = ctx.read([
    steps.navigate("/issues?q=ż", "#issues"),
    steps.wait(".spinner", abi.StateDetached),
    steps.extract("rows", steps.list("tr", [steps.intAttr("id", "", "data-id"), steps.text("title", "td")])),
    steps.exists("more", "a.next"),
    steps.page("page"),
    steps.html("html", "main", 1000),
    steps.snapshot("tree", "main", 1000),
  ]);
  if (res === null) return null;
  const rows = res.rows("rows");
  if (rows === null) return null;
  const out = new Value();
  out.set("rows", Value.list(rows));
  return out;
}

function act(ctx: Context, input: Args): Value | null {
  const res = ctx.act([
    steps.fill("#body", input.text),
    steps.select("#state", "closed"),
    steps.check("#notify", true),
    steps.press("#body", "Tab"),
    steps.click("#send", "#flash"),
  ]);
  return res === null ? null : new Value(Kind.Object);
}

function shot(ctx: Context, input: Args): Value | null {
  const res = ctx.screenshot([steps.shot("picture", "#chart")]);
  if (res === null) return null;
  const picture = res.value("picture");
  if (picture === null) return null;
  const out = new Value();
  out.set("picture", picture);
  return out;
}

function fetch(ctx: Context, input: Args): Value | null {
  const req = new abi.FetchRequest();
  req.method = "GET";
  req.path = "/api";
  req.parse = abi.ParseText;
  const a = ctx.fetch(req);
  if (a === null) return null;
  const out = new Value();
  out.set("status", number(a.status));
  out.set("text", Value.string(a.text));
  return out;
}

function progress(ctx: Context, input: Args): Value | null {
  ctx.progress(1, 2, "half");
  ctx.log(input.text);
  return new Value(Kind.Object);
}

function expired(ctx: Context, input: Args): Value | null {
  ctx.authExpired("signed out");
  return null;
}

function tools(): Array<Handler> {
  return [
    tool<Args, Value>("tck.echo", echo),
    tool<Args, Value>("tck.context", context),
    tool<Args, Value>("tck.read", read),
    tool<Args, Value>("tck.act", act),
    tool<Args, Value>("tck.shot", shot),
    tool<Args, Value>("tck.fetch", fetch),
    tool<Args, Value>("tck.progress", progress),
    tool<Args, Value>("tck.expired", expired),
  ];
}

export function call(): i32 { return serve(tools()); }
export function describe(): i32 { return tell(tools()); }
export function abort(message: string | null, file: string | null, line: u32, column: u32): void { unreachable(); }
