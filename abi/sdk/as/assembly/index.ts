// What a connector in AssemblyScript imports. A tool is a function of the call's
// Context and its input; an input has `read(v: Value): void`, an output
// `write(w: Writer): void`. AssemblyScript has no exceptions: what fails leaves its
// error in the Context and returns null, and so does the tool.
import * as abi from "./abi.gen";
import { Kind, Value, Writer, parse } from "./json";
import * as host from "./host";
import * as steps from "./steps";

export { abi, steps, Kind, Value, Writer, parse };

// One tool, made by tool.
export abstract class Handler {
  constructor(public name: string) {}
  abstract run(ctx: Context, args: Value, w: Writer): void;
}

class Typed<In, Out> extends Handler {
  constructor(name: string, private f: (ctx: Context, input: In) => Out | null) { super(name); }

  run(ctx: Context, args: Value, w: Writer): void {
    const input = instantiate<In>();
    input.read(args);
    const out = this.f(ctx, input);
    if (out === null) {
      if (ctx.error === null) ctx.fail(abi.ErrInvalidResult, this.name + ": no result and no error");
      return;
    }
    out.write(w);
  }
}

// Makes a handler of a typed function. The name is "connector.tool".
export function tool<In, Out>(name: string, f: (ctx: Context, input: In) => Out | null): Handler {
  return new Typed<In, Out>(name, f);
}

// Serves one call; the connector's export call returns what this does.
export function call(tools: Array<Handler>): i32 {
  const v = parse(host.input());
  const ctx = new Context(v === null ? new abi.CallInput() : abi.CallInput.read(v));
  const w = new Writer();
  w.raw("{\"ok\":true,\"result\":");
  run(tools, ctx, w);
  const error = ctx.error;
  if (error === null) {
    w.raw("}");
    host.output(w.toString());
    return 0;
  }
  const out = new abi.CallOutput();
  out.error = error;
  const failed = new Writer();
  out.write(failed);
  host.output(failed.toString());
  return 0;
}

function run(tools: Array<Handler>, ctx: Context, w: Writer): void {
  if (ctx.input.v != abi.Version) {
    ctx.fail(abi.ErrInternal, "this module speaks version " + abi.Version.toString() + " of the ABI, not " + ctx.input.v.toString());
    return;
  }
  for (let i = 0; i < tools.length; i++) {
    if (tools[i].name != ctx.input.tool) continue;
    const args = ctx.input.args;
    tools[i].run(ctx, args === null ? new Value() : args, w);
    return;
  }
  ctx.fail(abi.ErrInvalidArgs, "no tool \"" + ctx.input.tool + "\" in this module");
}

// Tells which tools there are; the connector's export describe returns what this does.
export function describe(tools: Array<Handler>): i32 {
  const d = new abi.Description();
  d.v = abi.Version;
  for (let i = 0; i < tools.length; i++) d.tools.push(tools[i].name);
  d.tools.sort();
  const w = new Writer();
  d.write(w);
  host.output(w.toString());
  return 0;
}

// A Context is one tool call.
export class Context {
  error: abi.ErrorData | null = null;
  private state: u64;

  constructor(public input: abi.CallInput) { this.state = <u64>input.seed; }

  // When the call began, in milliseconds of Unix time. It does not advance.
  now(): i64 { return this.input.now; }
  locale(): string { return this.input.locale; }
  setting(name: string): string { return this.input.settings.has(name) ? this.input.settings.get(name) : ""; }
  log(message: string): void { host.hostLog(message); }

  // A number in [0, 1), of a generator seeded with the call (SplitMix64). Not for secrets.
  random(): f64 {
    this.state += 0x9e3779b97f4a7c15;
    let z = this.state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return <f64>((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
  }

  // Each of these is one trip; null after a failure, which is in error.
  read(list: Array<abi.Step>): Result | null { return this.result(host.hostRead(program(list))); }
  act(list: Array<abi.Step>): Result | null { return this.result(host.hostAct(program(list))); }
  screenshot(list: Array<abi.Step>): Result | null { return this.result(host.hostScreenshot(program(list))); }

  // One request to the connector's own origin. A status of 400 and above is no failure.
  fetch(req: abi.FetchRequest): abi.FetchAnswer | null {
    req.v = abi.Version;
    const w = new Writer();
    req.write(w);
    const v = parse(host.hostFetch(w.toString()));
    const a = v === null ? new abi.FetchAnswer() : abi.FetchAnswer.read(v);
    if (a.ok) return a;
    this.failed(a.error);
    return null;
  }

  // A courtesy: failures are ignored.
  progress(done: f64, total: f64, message: string): void {
    const p = new abi.ProgressReport();
    p.v = abi.Version;
    p.done = done;
    p.total = total;
    p.message = message;
    const w = new Writer();
    p.write(w);
    host.hostProgress(w.toString());
  }

  navigate(path: string): bool { return this.read([steps.navigate(path)]) !== null; }
  waitFor(selector: string): bool { return this.read([steps.wait(selector)]) !== null; }

  fail(code: abi.Code, message: string): void {
    const e = new abi.ErrorData();
    e.code = code;
    e.message = message;
    this.error = e;
  }
  authExpired(message: string): void { this.fail(abi.ErrAuthExpired, message); }
  forbidden(message: string): void { this.fail(abi.ErrForbidden, message); }
  notFound(message: string): void { this.fail(abi.ErrNotFound, message); }
  drift(message: string): void { this.fail(abi.ErrSelectorDrift, message); }
  invalidArgs(message: string): void { this.fail(abi.ErrInvalidArgs, message); }

  private failed(e: abi.ErrorData | null): void {
    if (e !== null) this.error = e;
    else this.fail(abi.ErrInternal, "the host gave no reason");
  }

  private result(text: string): Result | null {
    const v = parse(text);
    const a = v === null ? new abi.Answer() : abi.Answer.read(v);
    if (a.ok) return new Result(this, a);
    this.failed(a.error);
    return null;
  }
}

function program(list: Array<abi.Step>): string {
  const p = new abi.Program();
  p.v = abi.Version;
  p.steps = list;
  const w = new Writer();
  p.write(w);
  return w.toString();
}

// A Result is what the steps of one trip brought.
export class Result {
  constructor(private ctx: Context, public answer: abi.Answer) {}

  // What a step brought under its name; an absent one is the connector's fault.
  value(name: string): Value | null {
    if (this.answer.data.has(name)) return this.answer.data.get(name);
    this.ctx.fail(abi.ErrInvalidResult, "no step \"" + name + "\" in this trip");
    return null;
  }

  // The rows of an extract step, each as an object with its columns.
  rows(name: string): Array<Value> | null {
    const v = this.value(name);
    return v === null ? null : rowsOf(v);
  }

  // The one row of a schema without rows.
  row(name: string): Value | null {
    const all = this.rows(name);
    if (all === null) return null;
    if (all.length == 1) return all[0];
    this.ctx.fail(abi.ErrInvalidResult, "\"" + name + "\" has " + all.length.toString() + " rows, not one");
    return null;
  }
}

// The rows of a table, such as FetchAnswer.table or a nested column.
export function rowsOf(table: Value): Array<Value> {
  const t = abi.Table.read(table);
  const out: Array<Value> = [];
  for (let i = 0; i < t.rows.length; i++) {
    const o = new Value(Kind.Object);
    for (let c = 0; c < t.cols.length && c < t.rows[i].length; c++) o.set(t.cols[c], t.rows[i][c]);
    out.push(o);
  }
  return out;
}
