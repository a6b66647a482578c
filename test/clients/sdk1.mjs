// The TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { run, target } from "./checks.mjs";

const at = target();

function transport() {
  if (at.url) {
    return new StreamableHTTPClientTransport(new URL(at.url), { requestInit: { headers: { Authorization: `Bearer ${at.token}` } } });
  }
  return new StdioClientTransport({ command: at.command, args: [], env: { ...process.env, ...at.env }, stderr: "inherit" });
}

async function connect(answer) {
  const client = new Client({ name: "sdk1", version: "1" }, { capabilities: answer ? { elicitation: {} } : {} });
  if (answer) client.setRequestHandler(ElicitRequestSchema, (r, extra) => answer(r.params.message, extra.signal));
  let heard;
  const changed = new Promise((r) => { heard = r; });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard());
  await client.connect(transport());
  await client.listTools(); // the client then checks results against their schemas
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
    changed: () => changed,
    close: () => client.close(),
  };
}

await run(connect, { lossy: !at.url, modern: false });
