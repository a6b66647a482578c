// Package clients runs other people's MCP clients against host/mcpserver: the two
// TypeScript SDKs, the Go SDK and the Inspector's command line. What each of them
// does, over stdio and over HTTP alike, S1 being the TypeScript SDK 1, S2 the SDK 2
// (legacy, auto and pinned), Go the Go SDK (in both eras) and I the Inspector (in
// the era auto, what is starred in each):
//
//	list                     S1 S2 Go I*
//	call                     S1 S2 Go I*
//	structured content       S1 S2 Go I*
//	error, unknown tool      S1 S2 Go I
//	image                    S1 S2 Go I
//	progress                 S1 S2 Go    I is told and shows nothing
//	cancel                   S1 S2 Go    I can't
//	timeout                  S1 S2 Go I  with DRAWBRIDGE_LONG: a minute
//	elicitation accepted     S1 S2 Go    I offers none
//	  declined               S1 S2 Go
//	  cancelled              S1 S2 Go
//	  accepted with a no     S1 S2 Go
//	  not offered            S1 S2 Go I
//	  never answered         S1 S2 Go
//	list_changed             S1 S2 Go    I has ended
//	64 calls at once         S1 S2 Go I
//	a result of 4 MB         S1 S2 Go I
//
// What never answered comes to differs by era: in the older one the server gives up
// and the call returns confirmation_required; in the newer one the question is the
// result, and it is the client that waits.
//
// checks.mjs has the SDKs' checks, gosdk_test.go and inspector_test.go the others'.
package clients
