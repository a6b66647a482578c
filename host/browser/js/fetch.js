// Fetch: one request of the page's own origin, with its cookies.

// read takes at most max bytes of a body.
async function read(response, max) {
  if (!response.body) return new Uint8Array(0);
  const reader = response.body.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > max) {
      await reader.cancel();
      throw new Fault("limit_exceeded", `the response is larger than ${max} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const p of parts) {
    whole.set(p, at);
    at += p.length;
  }
  return whole;
}

function decoder(contentType) {
  const m = /charset\s*=\s*"?([^\s";]+)/i.exec(contentType);
  try {
    return new TextDecoder(m ? m[1] : "utf-8");
  } catch {
    return new TextDecoder();
  }
}

// fetch: body is base64, so that every byte arrives as it was.
api.fetch = async ({ url, method, accept, contentType, body, hasBody, max, ms }) => {
  if (new URL(url, location.href).origin !== location.origin) {
    throw new Fault("origin_denied", `${quote(url)} is not of the page's origin ${quote(location.origin)}`);
  }
  const headers = {};
  if (accept) headers["Accept"] = accept;
  if (contentType) headers["Content-Type"] = contentType;
  const signal = AbortSignal.timeout(ms);
  try {
    const response = await fetch(url, {
      method, headers, signal, mode: "same-origin", credentials: "same-origin", redirect: "follow",
      body: hasBody ? Uint8Array.from(atob(body), (c) => c.charCodeAt(0)) : undefined,
    });
    const type = response.headers.get("Content-Type") || "";
    const bytes = await read(response, max);
    return { status: response.status, url: response.url, contentType: type, body: decoder(type).decode(bytes) };
  } catch (e) {
    if (e instanceof Fault) throw e;
    if (signal.aborted) throw new Fault("timeout", `no whole answer within ${ms} ms`);
    throw new Fault("network", String(e && e.message));
  }
};
