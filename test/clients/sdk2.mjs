// The TypeScript SDK, version 2: legacy, auto, or pinned to the newest revision.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run, target } from "./checks.mjs";

const at = target();
const modes = { legacy: "legacy", auto: "auto", pin: { pin: "2026-07-28" } };

function transport() {
  if (at.url) {
    return new StreamableHTTPClientTransport(new URL(at.url), { requestInit: { headers: { Authorization: `Bearer ${at.token}` } } });
  }
  return new StdioClientTransport({ command: at.command, args: [], env: { ...process.env, ...at.env }, stderr: "inherit" });
}

async function connect(answer) {
  let heard;
  const changed = new Promise((r) => { heard = r; });
  const client = new Client({ name: "sdk2", version: "2" }, {
    capabilities: answer ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: modes[at.mode] },
    listChanged: { tools: { autoRefresh: false, onChanged: () => heard() } },
  });
  if (answer) client.setRequestHandler("elicitation/create", (r, ctx) => answer(r.params.message, ctx?.signal ?? ctx?.mcpReq?.signal));
  await client.connect(transport());
  await client.listTools();
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    changed: () => changed,
    close: () => client.close(),
  };
}

await run(connect, { lossy: !at.url, modern: at.mode !== "legacy" });
