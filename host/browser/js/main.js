// The one way in: run a function of api and answer with JSON, which is smaller
// and faster than objects by value. A string in it is always well-formed.
const wellFormed = (_, v) => (typeof v === "string" ? v.toWellFormed() : v);

const fault = (e) => JSON.stringify({
  error: e instanceof Fault ? { code: e.code, message: e.message.toWellFormed() }
    : { code: "internal", message: String(e).slice(0, 200).toWellFormed() },
});

const answer = (v) => (v instanceof Raw ? `{"ok":${v.json}}` : JSON.stringify({ ok: v }, wellFormed));

globalThis.drawbridge = (name, arg) => {
  try {
    const v = api[name](arg);
    return v instanceof Promise ? v.then(answer, fault) : answer(v);
  } catch (e) {
    return fault(e);
  }
};
