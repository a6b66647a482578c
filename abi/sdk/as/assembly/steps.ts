// Steps and extraction schemas, made by name. What each does stands in abi.gen.ts.
import * as abi from "./abi.gen";

function step(op: abi.Op, selector: string = ""): abi.Step {
  const s = new abi.Step();
  s.op = op;
  s.selector = selector;
  return s;
}

function named(op: abi.Op, name: string, selector: string, max: i64 = 0): abi.Step {
  const s = step(op, selector);
  s.as = name;
  s.max = max;
  return s;
}

// Goes to a path under the base URL; wait is a selector that has to match then.
export function navigate(path: string, wait: string = ""): abi.Step {
  const s = step(abi.OpNavigate);
  s.path = path;
  s.wait = wait;
  return s;
}

export function wait(selector: string, state: abi.WaitState = ""): abi.Step {
  const s = step(abi.OpWait, selector);
  s.state = state;
  return s;
}

export function extract(name: string, schema: abi.Extraction): abi.Step {
  const s = named(abi.OpExtract, name, "");
  s.schema = schema;
  return s;
}

export function exists(name: string, selector: string): abi.Step { return named(abi.OpExists, name, selector); }
export function page(name: string): abi.Step { return named(abi.OpPage, name, ""); }
export function html(name: string, selector: string, max: i64): abi.Step { return named(abi.OpHTML, name, selector, max); }
export function snapshot(name: string, selector: string, max: i64): abi.Step { return named(abi.OpSnapshot, name, selector, max); }
export function shot(name: string, selector: string = ""): abi.Step { return named(abi.OpScreenshot, name, selector); }

export function click(selector: string, wait: string = ""): abi.Step {
  const s = step(abi.OpClick, selector);
  s.wait = wait;
  return s;
}

export function fill(selector: string, value: string): abi.Step {
  const s = step(abi.OpFill, selector);
  s.value = value;
  return s;
}

export function select(selector: string, value: string): abi.Step {
  const s = step(abi.OpSelect, selector);
  s.value = value;
  return s;
}

export function check(selector: string, checked: bool): abi.Step {
  const s = step(abi.OpCheck, selector);
  s.checked = checked;
  return s;
}

export function press(selector: string, key: string): abi.Step {
  const s = step(abi.OpPress, selector);
  s.key = key;
  return s;
}

// One row for each match of rows, or, without them, one for the page.
export function list(rows: string, cols: Array<abi.Col>): abi.Extraction {
  const x = new abi.Extraction();
  x.rows = rows;
  x.cols = cols;
  return x;
}

export function fields(cols: Array<abi.Col>): abi.Extraction { return list("", cols); }

function col(name: string, selector: string, kind: abi.ColKind = "", type: abi.ColType = "", attr: string = ""): abi.Col {
  const c = new abi.Col();
  c.name = name;
  c.selector = selector;
  c.kind = kind;
  c.type = type;
  c.attr = attr;
  return c;
}

export function text(name: string, selector: string): abi.Col { return col(name, selector); }
export function lines(name: string, selector: string): abi.Col { return col(name, selector, abi.KindLines); }
export function raw(name: string, selector: string): abi.Col { return col(name, selector, abi.KindRaw); }
export function int(name: string, selector: string): abi.Col { return col(name, selector, "", abi.TypeInt); }
export function attr(name: string, selector: string, attr: string): abi.Col { return col(name, selector, abi.KindAttr, "", attr); }
export function intAttr(name: string, selector: string, attr: string): abi.Col { return col(name, selector, abi.KindAttr, abi.TypeInt, attr); }
export function url(name: string, selector: string): abi.Col { return col(name, selector, abi.KindURL); }

// The texts of all matches, which may be none.
export function texts(name: string, selector: string): abi.Col {
  const c = col(name, selector);
  c.list = true;
  c.optional = true;
  return c;
}

export function nested(name: string, schema: abi.Extraction): abi.Col {
  const c = col(name, "", abi.KindNested);
  c.nested = schema;
  return c;
}

// Null where nothing matches, in place of selector_drift.
export function optional(c: abi.Col): abi.Col {
  c.optional = true;
  return c;
}
