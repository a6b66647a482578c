// The checks that every client runs. A client is {list, call, changed, close}: call
// takes a tool's name, its arguments and {onprogress, timeout, signal}; changed
// resolves when the client has heard that the tools changed. connect makes one with
// an answer to questions, or with none.
// Each check prints one line of JSON.

const minute = 60_000;

function need(ok, what) {
  if (!ok) throw new Error(what);
}

function textOf(result) {
  return result.content.find((c) => c.type === "text")?.text ?? "";
}

async function fails(promise, what) {
  try {
    await promise;
  } catch (e) {
    return String(e);
  }
  throw new Error(what);
}

// The question names the call's argument, and that says how it is answered.
export function answer(message, signal) {
  const id = Number(/"id":(\d+)/.exec(message)?.[1]);
  switch (id) {
    case 1: return { action: "accept", content: { approve: true } };
    case 2: return { action: "decline" };
    case 3: return { action: "cancel" };
    case 4: return { action: "accept", content: { approve: false } };
    default: return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("the question is over"))));
  }
}

async function counts(client) {
  return (await client.call("fixture_counts", {})).structuredContent;
}

// The backend sees a cancelled call end a little later than its client.
async function cancelled(client, before) {
  while ((await counts(client)).cancelled <= before) await new Promise((r) => setTimeout(r, 20));
}

async function refused(client, id, code) {
  const r = await client.call("fixture_delete", { id });
  need(r.isError && textOf(r).startsWith(code), `${code} expected: ${JSON.stringify(r).slice(0, 300)}`);
}

const checks = {
  async list({ client }) {
    const tools = await client.list();
    const names = tools.map((t) => t.name).join(" ");
    need(names === "fixture_add fixture_big fixture_counts fixture_delete fixture_echo fixture_fail fixture_image fixture_list fixture_progress fixture_remove fixture_wait", names);
    const remove = tools.find((t) => t.name === "fixture_delete");
    need(remove.annotations.destructiveHint === true && remove.annotations.readOnlyHint === false, "hints");
    need(remove.outputSchema?.type === "object" && remove.inputSchema.properties.id.type === "integer", "schemas");
  },
  async call({ client }) {
    const r = await client.call("fixture_echo", { n: 42 });
    need(!r.isError && r.structuredContent.n === 42, JSON.stringify(r));
  },
  async structured({ client }) {
    const r = await client.call("fixture_list", {});
    const want = '{"rows":[{"id":7,"title":"ä <b>"}]}';
    need(JSON.stringify(r.structuredContent) === want && JSON.stringify(JSON.parse(textOf(r))) === want, JSON.stringify(r));
  },
  async pages({ client }) {
    let rows = [], cursor, pages = 0;
    do {
      const r = await client.call("fixture_list", cursor ? { n: 3000, cursor } : { n: 3000 });
      const text = JSON.parse(textOf(r)), more = r.structuredContent.more;
      need(!r.isError && JSON.stringify(text.more) === JSON.stringify(more), JSON.stringify(r).slice(0, 300));
      need(JSON.stringify(text.rows.cols) === '["id","title"]' && text.rows.rows.length === r.structuredContent.rows.length, "the text's table");
      rows = rows.concat(r.structuredContent.rows);
      cursor = more.cursor;
      need(more.parts[0].last === rows.length && more.parts[0].left === 3001 - rows.length && ++pages < 20, JSON.stringify(more));
    } while (cursor);
    need(pages > 2 && rows.every((row, i) => row.id === 7 + i), `${pages} pages of ${rows.length} rows`);
    const wrong = await client.call("fixture_list", { n: 3000, cursor: "AAAA" });
    need(wrong.isError && /^invalid_args: .*\nhint: /.test(textOf(wrong)), JSON.stringify(wrong));
  },
  async error({ client }) {
    const r = await client.call("fixture_fail", {});
    need(r.isError && textOf(r) === 'auth_expired: nobody is signed in at "fixture.localhost"\nhint: drawbridge login fixture', JSON.stringify(r));
    need(r.structuredContent === undefined, "structured content beside an error");
  },
  async unknown({ client }) {
    const why = await fails(client.call("fixture_nothing", {}), "an unknown tool could be called");
    need(why.includes("unknown tool"), why);
  },
  async image({ client }) {
    const r = await client.call("fixture_image", {});
    const image = r.content.find((c) => c.type === "image");
    need(image.mimeType === "image/png" && Buffer.from(image.data, "base64").subarray(1, 4).toString() === "PNG", JSON.stringify(r));
    need(image._meta["dev.drawbridge/image"] === r.structuredContent.image, "the picture's name");
  },
  async progress({ client, lossy }) {
    let whole = 0;
    for (let run = 0; run < 20 && !(lossy && whole >= 3); run++) {
      const seen = [];
      const ms = lossy ? Math.min(5 * 2 ** run, 500) : 0;
      await client.call("fixture_progress", { n: 5, ms }, { onprogress: (p) => seen.push(p.progress) });
      const all = seen.join(" ") === "1 2 3 4 5";
      if (all) whole++;
      // Over stdio these clients drop a report that comes in one piece with the
      // result, whatever the server: never one of another call, and none twice.
      need(all || lossy && seen.every((v, i) => v <= 5 && (i === 0 || v > seen[i - 1])), `run ${run}: ${seen.join(" ")}`);
    }
    need(whole > 0, "never all of it");
  },
  async cancel({ client }) {
    const before = (await counts(client)).cancelled;
    const stop = new AbortController();
    await fails(client.call("fixture_wait", { ms: minute }, { signal: stop.signal, onprogress: () => stop.abort() }), "a cancelled call returned");
    await cancelled(client, before);
  },
  async timeout({ client }) {
    for (let timeout = 300; ; timeout *= 10) {
      const before = (await counts(client)).cancelled;
      let began = false;
      const why = await fails(client.call("fixture_wait", { ms: minute }, { timeout, onprogress: () => { began = true; } }), "no timeout");
      need(/timed? ?out/i.test(why), why);
      if (!began && timeout < minute / 10) continue; // a slow machine: the call had not got there
      await cancelled(client, before);
      return;
    }
  },
  async parallel({ client }) {
    const all = await Promise.all(Array.from({ length: 64 }, (_, n) => client.call("fixture_echo", { n })));
    all.forEach((r, n) => need(r.structuredContent.n === n, `call ${n} got ${JSON.stringify(r)}`));
  },
  async big({ client }) {
    const r = await client.call("fixture_big", { bytes: 4 << 20 });
    need(r.structuredContent.text.length === 4 << 20, `${r.structuredContent.text.length} bytes`);
  },
  async list_changed({ client }) {
    await client.call("fixture_add", {});
    await client.changed();
    need((await client.list()).some((t) => t.name === "fixture_added"), "the new tool is not listed");
    need((await client.call("fixture_added", {})).structuredContent.added === true, "the new tool");
    await client.call("fixture_remove", {});
    await fails(client.call("fixture_added", {}), "a tool that is gone could be called");
  },
};

// Questions: each on its own, and all at once, since some of them wait.
const questions = {
  async elicit_accept({ client }) {
    const r = await client.call("fixture_delete", { id: 1 });
    need(!r.isError && r.structuredContent.deleted === 1, JSON.stringify(r));
  },
  elicit_decline: ({ client }) => refused(client, 2, "confirmation_denied"),
  elicit_cancel: ({ client }) => refused(client, 3, "confirmation_denied"),
  elicit_false: ({ client }) => refused(client, 4, "confirmation_denied"),
  async elicit_never({ client, modern }) {
    if (modern) { // it is the client that waits, and it alone: the other checks go on
      const call = client.call("fixture_delete", { id: 5 }).catch(() => "over");
      const first = await Promise.race([call, new Promise((r) => setTimeout(r, 1000, "waits"))]);
      need(first === "waits", JSON.stringify(first));
      return;
    }
    await refused(client, 5, "confirmation_required");
  },
  elicit_none: ({ silent }) => refused(silent, 6, "confirmation_required"),
};

async function report(name, run) {
  let why = "";
  try {
    await run();
  } catch (e) {
    why = String(e?.stack ?? e).slice(0, 1000);
  }
  console.log(JSON.stringify({ check: name, ok: why === "", why }));
}

// run connects twice, once without an answer to questions, and runs everything.
export async function run(connect, { lossy, modern }) {
  const client = await connect(answer);
  const silent = await connect(null);
  const with_ = { client, silent, lossy, modern };
  const asked = Promise.all(Object.entries(questions).map(([name, f]) => report(name, () => f(with_))));
  for (const [name, f] of Object.entries(checks)) await report(name, () => f(with_));
  await asked;
  await report("elicit_once", async () => need((await counts(client)).deleted === 1, "one call of six was approved"));
  await report("close", async () => {
    await client.close();
    await silent.close();
  });
}

// target says where the server is: a URL and a token, or a program to start.
export function target() {
  return JSON.parse(process.env.FIXTURE_TARGET);
}
