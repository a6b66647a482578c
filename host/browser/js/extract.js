// Extraction: a declarative schema in, columns out, all in one go.

// COLUMNWISE is the number of rows from which one query for a whole column
// beats a query in each row.
const COLUMNWISE = 48;

const PARSE = {
  int: (s) => {
    const m = /(?<![\p{L}\p{N}_])[-+]?\d+|\d+/u.exec(s);
    const n = m ? Number(m[0]) : NaN;
    return Number.isSafeInteger(n) ? n : undefined;
  },
  number: (s) => (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(s = s.trim()) && Number.isFinite(Number(s)) ? Number(s) : undefined),
};

// An Extractor reads one schema; base resolves URLs.
class Extractor {
  constructor(base) {
    this.base = base;
    this.truncated = false;
  }

  // table reads schema s below root; where names the column that it is nested in.
  table(root, s, where) {
    const cols = s.cols.map((c) => c.name);
    let rows = s.rows ? all(root, s.rows) : [dom.type(root) === DOCUMENT ? one(root, ":root") : root];
    if (!rows.length && !(s.empty && one(root, s.empty))) {
      throw new Fault("selector_drift", `${where}no rows match ${quote(s.rows)}` +
        (s.empty ? ` and nothing matches ${quote(s.empty)}` : ""));
    }
    if (rows.length > s.limit) {
      rows = rows.slice(0, s.limit);
      this.truncated = true;
    }
    const columns = s.cols.map((c) => this.column(root, rows, c, where));
    return { cols, rows: rows.map((_, i) => columns.map((c) => c[i])) };
  }

  // column reads one column of all rows.
  column(root, rows, c, where) {
    const found = this.find(root, rows, c);
    return rows.map((row, i) => {
      const at = `${where}column ${quote(c.name)}, row ${i + 1}: `;
      if (c.list && !found[i].length && !c.optional) {
        throw new Fault("selector_drift", `${at}nothing matches ${quote(c.selector)}`);
      }
      if (c.list) return found[i].map((e) => this.cell(e, c, at)).filter((v) => v !== null);
      const e = found[i];
      if (c.kind === "exists") return !!e;
      const v = e ? this.cell(e, c, at) : null;
      if (v === null && !c.optional) {
        throw new Fault("selector_drift", e ? `${at}no ${c.attr || c.kind} at ${quote(c.selector || "")}` : `${at}nothing matches ${quote(c.selector)}`);
      }
      return v;
    });
  }

  // find returns, for each row, the first match of the column's selector, or
  // with list all of them.
  find(root, rows, c) {
    if (!c.selector) return rows.map((r) => (c.list ? [r] : r));
    if (rows.length < COLUMNWISE || c.selector.includes(":scope") || rows.some((r) => r === root)) {
      return rows.map((r) => (c.list ? all(r, c.selector) : one(r, c.selector)));
    }
    const index = new Map(rows.map((r, i) => [r, i]));
    const found = rows.map(() => (c.list ? [] : null));
    for (const e of all(root, c.selector)) {
      // Rows may stand in each other: an element belongs to all that hold it.
      for (let n = dom.parent(e); n && n !== root; n = dom.parent(n)) {
        const i = index.get(n);
        if (i === undefined) continue;
        if (c.list) found[i].push(e);
        else if (!found[i]) found[i] = e;
      }
    }
    return found;
  }

  // cell reads one element; null means that it has no such value.
  cell(e, c, at) {
    if (c.kind === "nested") return this.nested(e, c, at);
    if (dom.type(e) !== ELEMENT) throw new Fault("invalid_args", `${at}a shadow root itself has no ${c.kind}; give a selector`);
    const raw = this.raw(e, c, at);
    if (raw === null || c.type === "string") return raw === null ? null : raw.toWellFormed();
    const v = PARSE[c.type](raw);
    if (v === undefined) {
      if (c.optional && !raw.trim()) return null;
      throw new Fault("selector_drift", `${at}${quote(raw.toWellFormed())} is not of type ${c.type}`);
    }
    return v;
  }

  nested(e, c, at) {
    const s = c.nested;
    if (c.optional && s.rows && !one(e, s.rows)) return { cols: s.cols.map((n) => n.name), rows: [] };
    return this.table(e, s, at);
  }

  raw(e, c, at) {
    switch (c.kind) {
      case "text": return collapse(dom.text(e));
      case "raw": return dom.text(e);
      case "lines": return lines(e);
      case "pre": return pre(e);
      case "owntext": return ownText(e);
      case "attr":
        if (isPassword(e) && c.attr.toLowerCase() === "value") throw new Fault("capability_denied", `${at}a password is not read`);
        return dom.attr(e, c.attr);
      case "url": return this.url(dom.attr(e, c.attr || "href"));
      case "value":
        if (isPassword(e)) throw new Fault("capability_denied", `${at}a password is not read`);
        return controlValue(e);
    }
    throw new Fault("invalid_args", `${at}unknown kind ${quote(c.kind)}`);
  }

  url(v) {
    if (v === null) return null;
    return URL.canParse(v, this.base) ? new URL(v, this.base).href : v;
  }
}

// bytes is an upper bound of a JSON text's size.
const bytes = (json) => (/^[\x00-\x7f]*$/.test(json) ? json.length : json.length * 3);

// extract reads what fits into budget bytes.
function extract(root, base, { schema, budget }) {
  const x = new Extractor(base);
  const table = x.table(root, schema, "");
  const next = schema.next && one(root, schema.next);
  const rows = [];
  for (const row of table.rows) {
    const json = JSON.stringify(row);
    budget -= bytes(json) + 1;
    if (budget < 0) break;
    rows.push(json);
  }
  return new Raw(`{"table":{"cols":${JSON.stringify(table.cols)},"rows":[${rows.join(",")}]},"rows":${rows.length},` +
    `"truncated":${x.truncated || budget < 0},"next":${JSON.stringify((next && x.url(dom.attr(next, "href"))) || "")}}`);
}

// extract: from the page.
api.extract = (arg) => {
  const root = mustResolve(arg.schema.within);
  return extract(root, dom.base(root), arg);
};

// extractHTML: from markup that is parsed and never rendered.
api.extractHTML = (arg) => {
  const doc = new DOMParser().parseFromString(arg.html, "text/html");
  const at = one(doc, "base[href]");
  const base = at && URL.canParse(dom.attr(at, "href"), arg.base) ? new URL(dom.attr(at, "href"), arg.base).href : arg.base;
  return extract(doc, base, arg);
};
