// JSON as the host calls speak it. A Writer makes text piece by piece; parse makes
// a tree of Values. A lone surrogate, which a page may hold, is written as U+FFFD:
// the host refuses it.

// What a Value is.
export enum Kind { Null, Bool, Number, String, List, Object }

// Deeper input is refused, as the host refuses it: abi MaxJSONDepth.
const MAX_DEPTH = 128;

// A Value is one JSON value. Text is a string, or a number as it was written; items
// are a list's, or an object's members with their names beside them.
export class Value {
  text: string = "";
  items: Array<Value> = [];
  names: Array<string> = [];

  constructor(public kind: Kind = Kind.Null) {}

  static string(s: string): Value {
    const v = new Value(Kind.String);
    v.text = s;
    return v;
  }

  static list(items: Array<Value>): Value {
    const v = new Value(Kind.List);
    v.items = items;
    return v;
  }

  // The member of that name, the last of several; null if there is none, or if it is null.
  get(name: string): Value | null {
    for (let i = this.names.length - 1; i >= 0; i--) {
      if (this.names[i] == name) return this.items[i].kind == Kind.Null ? null : this.items[i];
    }
    return null;
  }

  set(name: string, v: Value): void {
    this.kind = Kind.Object;
    this.names.push(name);
    this.items.push(v);
  }

  // The value as a type; of another kind it is that type's zero.
  str(): string { return this.kind == Kind.String ? this.text : ""; }
  bool_(): bool { return this.kind == Kind.Bool && this.text == "true"; }
  num(): f64 { return this.kind == Kind.Number ? F64.parseFloat(this.text) : 0; }
  int(): i64 { return this.kind == Kind.Number ? I64.parseInt(this.text) : 0; }

  write(w: Writer): void {
    switch (this.kind) {
      case Kind.Null: w.null_(); break;
      case Kind.Bool:
      case Kind.Number: w.raw(this.text); break;
      case Kind.String: w.str(this.text); break;
      case Kind.List:
        w.openList();
        for (let i = 0; i < this.items.length; i++) {
          w.item();
          this.items[i].write(w);
        }
        w.closeList();
        break;
      case Kind.Object:
        w.open();
        for (let i = 0; i < this.items.length; i++) {
          w.key(this.names[i]);
          this.items[i].write(w);
        }
        w.close();
        break;
    }
  }
}

// A Writer gathers one JSON text. Each member starts with key, each element with item.
export class Writer {
  private parts: Array<string> = [];
  private fresh: bool = true;

  open(): void { this.raw("{"); this.fresh = true; }
  close(): void { this.raw("}"); this.fresh = false; }
  openList(): void { this.raw("["); this.fresh = true; }
  closeList(): void { this.raw("]"); this.fresh = false; }
  item(): void {
    if (!this.fresh) this.raw(",");
    this.fresh = false;
  }
  key(name: string): void { this.item(); this.str(name); this.raw(":"); }
  str(s: string): void { this.raw(quote(s)); }
  bool_(b: bool): void { this.raw(b ? "true" : "false"); }
  int(n: i64): void { this.raw(n.toString()); }
  num(n: f64): void { this.raw(isFinite(n) ? (n == Math.floor(n) && Math.abs(n) < 1e15 ? (<i64>n).toString() : n.toString()) : "null"); }
  null_(): void { this.raw("null"); }
  raw(json: string): void { this.parts.push(json); }
  toString(): string { return this.parts.join(""); }
}

function quote(s: string): string {
  const parts: Array<string> = ["\""];
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < s.length && (s.charCodeAt(i + 1) & 0xfc00) == 0xdc00) {
      i++; // a pair
      continue;
    }
    if (c >= 0x20 && c != 0x22 && c != 0x5c && (c & 0xf800) != 0xd800) continue;
    parts.push(s.substring(from, i));
    parts.push(c == 0x22 ? "\\\"" : c == 0x5c ? "\\\\" : c >= 0xd800 ? "\ufffd" : "\\u" + c.toString(16).padStart(4, "0"));
    from = i + 1;
  }
  parts.push(s.substring(from));
  parts.push("\"");
  return parts.join("");
}

// The value that text is, or null if it is not one JSON value.
export function parse(text: string): Value | null {
  const p = new Parser(text);
  const v = p.value(0);
  p.space();
  return p.bad || p.at != text.length ? null : v;
}

class Parser {
  at: i32 = 0;
  bad: bool = false;

  constructor(private s: string) {}

  space(): void {
    for (; this.at < this.s.length; this.at++) {
      const c = this.s.charCodeAt(this.at);
      if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return;
    }
  }

  private peek(): i32 { return this.at < this.s.length ? this.s.charCodeAt(this.at) : -1; }

  private take(c: i32): bool {
    this.space();
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  private fail(): Value { this.bad = true; return new Value(); }

  value(depth: i32): Value {
    this.space();
    if (depth > MAX_DEPTH) return this.fail();
    const c = this.peek();
    if (c == 0x7b) return this.object(depth);
    if (c == 0x5b) return this.list(depth);
    if (c == 0x22) return Value.string(this.string());
    if (c == 0x2d || (c >= 0x30 && c <= 0x39)) return this.number();
    if (this.word("true") || this.word("false")) {
      const v = new Value(Kind.Bool);
      v.text = c == 0x74 ? "true" : "false";
      return v;
    }
    return this.word("null") ? new Value() : this.fail();
  }

  private word(w: string): bool {
    if (this.s.substr(this.at, w.length) != w) return false;
    this.at += w.length;
    return true;
  }

  private digits(): bool {
    const from = this.at;
    while (this.peek() >= 0x30 && this.peek() <= 0x39) this.at++;
    return this.at > from;
  }

  private number(): Value {
    const from = this.at;
    if (this.peek() == 0x2d) this.at++;
    if (!this.digits()) return this.fail();
    if (this.peek() == 0x2e) {
      this.at++;
      if (!this.digits()) return this.fail();
    }
    if ((this.peek() | 0x20) == 0x65) {
      this.at++;
      if (this.peek() == 0x2b || this.peek() == 0x2d) this.at++;
      if (!this.digits()) return this.fail();
    }
    const v = new Value(Kind.Number);
    v.text = this.s.substring(from, this.at);
    return v;
  }

  private list(depth: i32): Value {
    const v = new Value(Kind.List);
    this.at++;
    if (this.take(0x5d)) return v;
    while (!this.bad) {
      v.items.push(this.value(depth + 1));
      if (this.take(0x5d)) return v;
      if (!this.take(0x2c)) return this.fail();
    }
    return v;
  }

  private object(depth: i32): Value {
    const v = new Value(Kind.Object);
    this.at++;
    if (this.take(0x7d)) return v;
    while (!this.bad) {
      this.space();
      if (this.peek() != 0x22) return this.fail();
      const name = this.string();
      if (!this.take(0x3a)) return this.fail();
      v.set(name, this.value(depth + 1));
      if (this.take(0x7d)) return v;
      if (!this.take(0x2c)) return this.fail();
    }
    return v;
  }

  private string(): string {
    const parts: Array<string> = [];
    let from = ++this.at;
    for (; this.at < this.s.length; this.at++) {
      const c = this.s.charCodeAt(this.at);
      if (c == 0x22) {
        parts.push(this.s.substring(from, this.at++));
        return parts.length == 1 ? parts[0] : parts.join("");
      }
      if (c < 0x20) break;
      if (c != 0x5c) continue;
      parts.push(this.s.substring(from, this.at++));
      parts.push(this.escape());
      from = this.at + 1;
    }
    this.bad = true;
    return "";
  }

  // Escape reads what follows a backslash and stays on its last character.
  private escape(): string {
    const c = this.peek();
    switch (c) {
      case 0x22: return "\"";
      case 0x5c: return "\\";
      case 0x2f: return "/";
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
    }
    let code = 0;
    for (let i = 1; i <= 4; i++) {
      const h = this.at + i < this.s.length ? hex(this.s.charCodeAt(this.at + i)) : -1;
      if (h < 0 || c != 0x75) {
        this.bad = true;
        return "";
      }
      code = code << 4 | h;
    }
    this.at += 4;
    return String.fromCharCode(code);
  }
}

function hex(c: i32): i32 {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  c |= 0x20;
  return c >= 0x61 && c <= 0x66 ? c - 0x57 : -1;
}
