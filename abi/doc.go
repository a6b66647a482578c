// Package abi is the contract between the host and a connector: version 1 of the
// drawbridge ABI. This comment is its specification; the types are its data.
// Everything else in the repository that touches the boundary, guest SDKs in other
// languages included, follows this package.
//
// The package describes and decides nothing: it has no parser, no policy and no
// dependency but the standard library, so that host and guest share it. Bytes that
// cross the boundary are decoded by package strictjson in the host. Start with
// manifest.go for what an author writes, with call.go for what a module sees.
//
// # A connector
//
// A connector is a WASM module (core, version 1) and a manifest. The manifest says
// what the module may do, and becomes the signed release ([Manifest], [Release]);
// the module says nothing about itself that is believed. A host runs a module only
// within its release: the origins it may go to, the requests that each tool may
// cause, the capabilities it has.
//
// # Exports
//
// A module exports functions, each without parameters, returning an i32:
//
//	call      answers one tool call; input CallInput, output CallOutput
//	describe  lists the tools; no input, output Description
//
// and, if its language needs it, _initialize, which the host calls once before
// anything else. A start section is refused. The i32 is 0 if output was set; any
// other value, a trap or output that is not valid is guest_trap or invalid_result,
// and the instance is thrown away. An instance serves one call.
//
// # Imports
//
// A module imports functions only, from three modules.
//
// "drawbridge:host/v1" ([Namespace]) has the host calls. Each import name is one
// capability, so that a module's imports are the capabilities that it asks for,
// and they must equal those that its tools declare:
//
//	read        steps that read the call's page       Program in, Answer out
//	act         the same, and steps that act on it    Program in, Answer out
//	screenshot  read steps, and pictures of the page  Program in, Answer out
//	fetch       one request with the page's cookies   FetchRequest in, FetchAnswer out
//	progress    tell the caller how far the call is   ProgressReport in, Answer out
//
// "extism:host/env" carries input, output and memory as the Extism plug-in
// development kits expect: input_length, input_load_u8, input_load_u64, output_set,
// error_set, alloc, free, length, load_u8, load_u64, store_u8, store_u64,
// get_log_level, log_trace, log_debug, log_info, log_warn and log_error. Its HTTP,
// variables and configuration are not served.
//
// "wasi_snapshot_preview1" has the few calls that language runtimes link: the
// clocks, random_get, fd_write to the log, proc_exit, sched_yield, poll_oneoff up
// to a second; empty arguments and environment; file calls that fail with EBADF.
//
// Any other import is refused before the module is compiled, and named.
//
// # Memory
//
// The host keeps a memory of blocks beside the module's own; a block has an offset
// (i64) and a length. Every host call has the signature
//
//	(i64) -> i64
//
// The argument is the offset of a block with the request, which the module
// allocates with alloc, fills and may free after the call. The result is the offset
// of a block with the answer, whose length the function length tells, and which the
// module frees; 0 is no answer, and the call fails as internal. Input and output of
// an export go by input_* and output_set.
//
// Everything in a block is one JSON document in UTF-8, without a byte order mark.
//
// # Prompts and values
//
// A connector may ship prompts ([Prompt]): text, with arguments put in, that a
// client offers its user to begin with. They are part of the signed release and
// run nothing. An argument of a prompt or tool may say which column of which
// reading tool its values come from ([Column]); the host calls that tool, like any
// call of the same client, when somebody completes the argument.
//
// # Long results
//
// A client gets [MinClientResult] bytes of a result at once, unless the tool asks for
// more (Tool.MaxResult). The host parts a longer one of a tool that only reads, at the
// rows of its lists and in its long texts, if each part fits the output schema: a list
// may then be shorter or empty, and a text cut. A module sees nothing of it.
//
// # Flow of a call
//
// The host has checked the arguments against the tool's input schema, asked for
// consent where the tool is destructive, and opened a blank page. It calls call:
//
//	{"v":1,"tool":"tracker.list","args":{"status":"open"},"now":1767323045000,"seed":7,
//	 "settings":{"base_url":"https://tracker.example"},"locale":"en"}
//
// Time, randomness and settings come with the input, so that a call can be
// replayed; there are no host calls for them. The module asks for what it needs:
//
//	{"v":1,"steps":[
//	  {"op":"navigate","path":"/issues?status=open"},
//	  {"op":"extract","as":"issues","schema":{
//	    "rows":"tr.issue","empty":"#no-issues",
//	    "cols":[{"name":"id","selector":"td.id","type":"int"},{"name":"title","selector":"td.title"}],
//	    "next":{"selector":"a.next","max":3}}}]}
//
// and gets:
//
//	{"ok":true,"page":{"url":"https://tracker.example/issues?status=open","title":"Issues"},
//	 "data":{"issues":{"cols":["id","title"],"rows":[[12,"Crash on save"],[9,"Slow start"]]}}}
//
// It answers:
//
//	{"ok":true,"result":{"issues":[{"id":12,"title":"Crash on save"},{"id":9,"title":"Slow start"}]}}
//
// The host checks the result against the tool's output schema and passes it on.
//
// # Steps
//
// A [Program] runs its steps in order in the call's one page and stops at the first
// that fails; Answer.Step is its index from 0. What earlier steps brought is dropped.
// The page stays between host calls. The read steps stand in read, act and
// screenshot:
//
//	navigate  goes to Path under the base URL, as a click on a link would; then
//	          tells by the manifest's Pages what came: auth_expired, forbidden,
//	          not_found or selector_drift fail the step. Wait: a selector besides.
//	wait      until Selector is attached, visible or detached (State), at most
//	          TimeoutMS
//	extract   what Schema describes, a Table under As
//	exists    whether Selector matches, a boolean under As
//	page      where the page is, a PageInfo under As
//	html      outer HTML of Selector, at most Max bytes, {"html","truncated"} under As
//	snapshot  what is in Selector, or in the page, for a reader who can't see it:
//	          a line for each element with its role, name, state and value, indented
//	          by how they nest; at most Max bytes, {"text","truncated"} under As. What
//	          password and one-time-code fields hold is not told
//
// One step stands in screenshot alone:
//
//	screenshot  a picture of Selector, as far as it fits into the window, or of what
//	            the window shows; an ImageHandle under As
//
// Act steps stand in act alone. Each Selector has to match exactly one element
// (target_ambiguous, selector_drift) that would receive the event (covered_by):
//
//	click     Selector; Wait: a selector that has to match before the next step,
//	          in the page that the click leads to
//	fill      replaces what the input Selector holds by Value
//	select    the option Value of Selector
//	check     sets the checkbox Selector to Checked
//	press     Key in Selector
//
// Within leads a selector through frames and shadow roots. A selector is CSS; no
// step carries a script.
//
// # Extraction
//
// An [Extraction] with Rows yields one row for each match, in document order, else
// one row. Each column reads the first match of its selector inside the row (all,
// with List), or the row itself if it has no selector. Nothing there is null for an
// optional column and selector_drift for others; a value that does not parse as the
// column's type is selector_drift. No rows is an empty table if Empty matches, and
// selector_drift otherwise, so that a changed page never looks like an empty one; an
// optional nested table is empty then. Follow goes on through further pages, each a
// navigation of its own; the rows of all pages are one table, cut at Limit, and
// Answer.Truncated tells whether more was there than a limit let through.
//
// A [Table] names its columns once, because reading JSON is a guest's main cost.
//
// # Pictures
//
// A module gets the handle of a picture and never its bytes. It puts the handle as a
// string into its result, where the output schema says the format "image"; the host
// then sends the picture to the caller as content of its own beside the result, in
// which the handle stays as the picture's name. A picture that the result does not name is dropped. A
// handle is good for the call that took it: in another one it is a string like any
// other. A picture is a PNG or JPEG of at most MaxImage bytes; the host scales it down
// until it is. Fields for passwords and one-time codes, and frames of other origins,
// are painted over. Since text in a picture can't be redacted, the capability is one of
// its own.
//
// # Requests
//
// A tool's Reads and Writes list what may be sent while it runs, whoever sends it:
// navigate, fetch, a click, or the page's own scripts ([Request]). The host refuses
// the rest before it leaves the browser, as origin_denied. A tool that is not
// destructive sends nothing that Writes would have to list. In fetch a value of a
// form may be given as a token, by the selector of the element that holds it, so
// that secrets of a form stay out of the module.
//
// # Errors
//
// A failure is data, the same in host calls, in the output of call, in MCP and in the
// audit log:
//
//	{"ok":false,"step":1,"error":{"code":"selector_drift","message":"nothing matches \"tr.issue\""}}
//
// The codes are closed and append-only: auth_expired, forbidden, not_found,
// selector_drift, untrusted, target_ambiguous, covered_by, stale_ref, timeout,
// dialog_open, origin_denied, capability_denied, confirmation_required,
// confirmation_denied, outcome_unknown, invalid_args, invalid_result, guest_trap,
// limit_exceeded, browser_gone, page_crashed, page_closed, consent_pending,
// unsupported_action and internal; each is explained where it is declared. A module
// passes on what it was given, or makes an error of its own:
//
//	{"ok":false,"error":{"code":"not_found","message":"no ticket 76"}}
//
// An output has either a result or an error. A message is lower case, one line, and
// quotes the value at fault. Codes that only a host can know (untrusted,
// confirmation_required, confirmation_denied, guest_trap) are taken for
// invalid_result when a module makes them up. A trap is for a broken contract,
// never for a failure.
//
// # Limits
//
// Those in limits.go hold for every module; a host may be set to less. What exceeds
// one is limit_exceeded. A module that runs longer than GuestCPU, host calls not
// counted, is killed, and so is one whose call reaches its deadline.
//
// # Versions and unknown fields
//
// Every document from a module and every [CallInput] has the version as v. A
// release names the range that its module works with, and a host outside of it
// refuses to install it. Within a version the contract only grows:
//
//   - a module ignores fields that it does not know. A host adds unknown fields to
//     inputs and answers now and then, named grease_ and random digits, so that a
//     module that does not ignore them is found by its author;
//   - a host refuses fields, operations and kinds that it does not know, because a
//     module that sends one expects something to happen (unsupported_action, or
//     invalid_result in a tool's output);
//   - codes are added, never renamed or used for something else. A module treats a
//     code that it does not know as internal.
package abi
